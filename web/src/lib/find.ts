/** Finds a text within other text, without regard to case. */

/** The offsets of the start and the end of a part of a text. */
export type Part = readonly [from: number, to: number];

/** The parts of a text that equal a query, in order; at most `most`. They do not overlap. */
export function partsOf(text: string, query: string, most: number): Part[] {
  if (query === "") return [];
  const pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
  const found: Part[] = [];
  for (const { index, 0: match } of text.matchAll(pattern)) {
    found.push([index, index + match.length]);
    if (found.length === most) break;
  }
  return found;
}

/** A place in one of several texts: the index of the text and the offset within it. */
export type Place = readonly [text: number, offset: number];

/**
 * The place of an offset in the concatenation of texts, which begin at `starts`. An offset at which
 * two texts meet is the end of the first one if `end` is true, else the start of the second one.
 */
export function placeOf(starts: readonly number[], offset: number, end: boolean): Place {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (end ? starts[middle]! < offset : starts[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return [low, offset - starts[low]!];
}

/** The index of the first part at or after an offset; the first of all if none follows. */
export function firstFrom(parts: readonly Part[], offset: number): number {
  const found = parts.findIndex(([from]) => from >= offset);
  return found < 0 ? 0 : found;
}
