/** Justified rows: pictures of one height in each row, which fill the width together. */

export interface JustifiedRow {
  /** Index of the first picture, and of the one after the last. */
  from: number;
  to: number;
  /** Pixels. */
  height: number;
  /** Of each picture, in pixels. */
  widths: number[];
}

/**
 * Arranges pictures by their ratios of width to height. A row ends as soon as its pictures fill the
 * width at `most` pixels of height. The last row, which may not fill it, has that height. A picture
 * wider than the whole width has a row of its own.
 */
export function justify(ratios: readonly number[], width: number, most: number, gap: number): JustifiedRow[] {
  const rows: JustifiedRow[] = [];
  if (width <= 0) return rows;
  let from = 0;
  let sum = 0;
  const end = (to: number, full: boolean) => {
    const room = width - gap * (to - from - 1);
    const height = full ? Math.min(room / sum, most) : most;
    const widths = ratios.slice(from, to).map((ratio) => Math.floor(ratio * height));
    // the last picture gets the remainder of the rounding, so that all rows end at one line
    if (full && widths.length > 0) widths[widths.length - 1]! += room - widths.reduce((all, one) => all + one, 0);
    rows.push({ from, to, height, widths });
    from = to;
    sum = 0;
  };
  ratios.forEach((ratio, at) => {
    sum += ratio;
    if (sum * most + gap * (at - from) >= width) end(at + 1, true);
  });
  if (from < ratios.length) end(ratios.length, false);
  return rows;
}

/**
 * The ratio of a picture as it is arranged: very wide and very high ones are cut, so that rows keep
 * a size.
 */
export function arranged(width: number, height: number): number {
  return width > 0 && height > 0 ? Math.min(3, Math.max(0.5, width / height)) : 1;
}
