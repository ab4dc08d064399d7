/** Justified rows: pictures in their proportions, which fill the width together. */
import type { Box } from "./geometry";

export interface Frame {
  /** Pixels. */
  width: number;
  /** The usual height of a row in pixels. */
  rowHeight: number;
  /** Pixels between two pictures, and between two rows. */
  gap: number;
}

/** The ratio of a picture whose size is not known. */
const usual = 4 / 3;
/** Pictures of other ratios are cut. */
const narrowest = 0.4;
const widest = 8;

/** The ratio of width to height that a listing states of a picture, 0 if it states none. */
export function ratioOf({ width, height }: { width?: number; height?: number }): number {
  return width && height ? width / height : 0;
}

/** The ratio with which a picture of a ratio of width to height, 0 if unknown, is arranged. */
export function arranged(ratio: number): number {
  return Math.min(widest, Math.max(narrowest, ratio || usual));
}

/**
 * Fills rows with pictures by their ratios. A row ends where its height is nearest to the usual
 * one. The last row may not fill the width, and then has the usual height. Calls `end` for each row
 * with its first picture, the one after its last, its height in pixels, and whether it fills the
 * width.
 */
export function fillRows(
  count: number,
  ratioOf: (nth: number) => number,
  { width, rowHeight, gap }: Frame,
  end: (from: number, to: number, height: number, filled: boolean) => void,
): void {
  let start = 0;
  let sum = 0; // of the ratios of the row
  const row = (to: number, height: number, filled: boolean) => {
    end(start, to, Math.max(1, Math.round(height)), filled);
    start = to;
    sum = 0;
  };
  for (let at = 0; at < count; at++) {
    const ratio = ratioOf(at);
    sum += ratio;
    const room = width - gap * (at - start);
    if (sum * rowHeight < room) continue;
    const height = room / sum;
    const without = at > start ? (room + gap) / (sum - ratio) : Infinity;
    if (without / rowHeight >= rowHeight / height) {
      row(at + 1, height, true);
      continue;
    }
    row(at, without, true);
    sum = ratio;
    if (ratio * rowHeight >= width) row(at + 1, width / ratio, true);
  }
  if (start < count) row(count, rowHeight, false);
}

/** The boxes of the pictures of a row. In a row that fills the width, the last one ends with it. */
export function boxesOf(ratios: readonly number[], { width, rowHeight, gap }: Frame, filled: boolean): Box[] {
  const sum = ratios.reduce((all, one) => all + one, 0);
  const scale = filled ? (width - gap * (ratios.length - 1)) / sum : rowHeight;
  let x = 0;
  return ratios.map((ratio) => {
    const left = Math.round(x);
    const right = Math.round(x + ratio * scale);
    x += ratio * scale + gap;
    return { left, width: right - left };
  });
}

export interface JustifiedRow {
  /** Index of the first picture. */
  from: number;
  /** Pixels. */
  height: number;
  boxes: Box[];
}

/** Arranges pictures by their ratios. */
export function justify(ratios: readonly number[], frame: Frame): JustifiedRow[] {
  const rows: JustifiedRow[] = [];
  if (frame.width > 0)
    fillRows(
      ratios.length,
      (nth) => ratios[nth]!,
      frame,
      (from, to, height, filled) => rows.push({ from, height, boxes: boxesOf(ratios.slice(from, to), frame, filled) }),
    );
  return rows;
}
