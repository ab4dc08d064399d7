/**
 * The positions of the pictures of a timeline. Rows of pictures in their true proportions fill the
 * width, below the headings of their months. All rows are computed at once from the ratios:
 * 100,000 pictures take a few milliseconds.
 */
import { Layout, type Box, type Row } from "./geometry";
import { arranged, boxesOf, fillRows, type Frame } from "./justified";
import type { Range } from "./ranges";

/** A month of a timeline, as the server tells it. */
export interface Month {
  /** For example 2025-07. */
  month: string;
  count: number;
  /** The width of each picture divided by its height, 0 where it is not known. */
  ratios: readonly number[];
}

export interface Measures extends Frame {
  /** The height of the heading of a month in pixels. */
  heading: number;
}

/** A month on the canvas. */
export interface PlacedMonth {
  month: string;
  /** The index range of its pictures, half-open. */
  from: number;
  to: number;
  /** Pixels from the top of the canvas to the top of its heading. */
  top: number;
  /** The number of its first row. */
  row: number;
}

/** The last position of a sorted list that is at most `value`; 0 if there is none. */
function lastUpTo(length: number, at: (nth: number) => number, value: number): number {
  let low = 0;
  let high = length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (at(middle) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

export class Timeline extends Layout {
  readonly months: readonly PlacedMonth[];
  readonly total: number;
  readonly rowCount: number;
  readonly fullHeight: number;
  readonly #ratios: readonly (readonly number[])[];
  readonly #measures: Measures;
  // of each row: its first picture, top and height in pixels, month, and whether it fills the width
  readonly #firsts: number[] = [];
  readonly #tops: number[] = [];
  readonly #heights: number[] = [];
  readonly #months: number[] = [];
  readonly #filled: boolean[] = [];

  constructor(months: readonly Month[], measures: Measures) {
    super();
    this.#measures = measures;
    this.#ratios = months.map(({ ratios }) => ratios);
    const placed: PlacedMonth[] = [];
    let from = 0;
    let top = 0;
    for (const [nth, { month, count }] of months.entries()) {
      placed.push({ month, from, to: from + count, top, row: this.#firsts.length });
      top = this.#fill(nth, from, count, top + measures.heading);
      from += count;
    }
    this.months = placed;
    this.total = from;
    this.rowCount = this.#firsts.length;
    this.fullHeight = top;
  }

  /** Places the rows of a month. Returns the top of the next month. */
  #fill(month: number, from: number, count: number, top: number): number {
    let below = top;
    const place = (first: number, _: number, height: number, filled: boolean) => {
      this.#firsts.push(from + first);
      this.#tops.push(below);
      this.#heights.push(height);
      this.#months.push(month);
      this.#filled.push(filled);
      below += height + this.#measures.gap;
    };
    fillRows(count, (nth) => this.#ratio(month, nth), this.#measures, place);
    return below;
  }

  #ratio(month: number, nth: number): number {
    return arranged(this.#ratios[month]![nth] ?? 0);
  }

  protected place(number: number): Row {
    const from = this.#firsts[number]!;
    const to = this.#firsts[number + 1] ?? this.total;
    const month = this.#months[number]!;
    const placed = this.months[month]!;
    const opens = placed.row === number;
    return {
      number,
      from,
      to,
      section: 0,
      top: this.#tops[number]!,
      height: this.#heights[number]!,
      boxes: this.#boxes(number, from - placed.from, to - placed.from, month),
      ...(opens && { heading: { month, top: placed.top } }),
    };
  }

  #boxes(number: number, from: number, to: number, month: number): Box[] {
    const ratios = Array.from({ length: to - from }, (_, nth) => this.#ratio(month, from + nth));
    return boxesOf(ratios, this.#measures, this.#filled[number]!);
  }

  rowOf(index: number): Row {
    return this.row(lastUpTo(this.rowCount, (nth) => this.#firsts[nth]!, index));
  }

  /** A heading belongs to the row below it. */
  rowAt(y: number): number {
    const number = lastUpTo(this.rowCount, (nth) => this.#tops[nth]!, y);
    const next = this.months[(this.#months[number] ?? 0) + 1];
    return next?.row === number + 1 && next.top <= y ? number + 1 : number;
  }

  override get lines(): number {
    return this.rowCount + this.months.length;
  }

  override line(row: Row): number {
    return row.number + this.#months[row.number]! + 2;
  }

  /** The picture whose centre is nearest. */
  protected beside(index: number, here: Row, there: Row): number {
    const centre = ({ left, width }: Box) => left + width / 2;
    const at = centre(here.boxes![index - here.from]!);
    const distances = there.boxes!.map((box) => Math.abs(centre(box) - at));
    return there.from + distances.indexOf(Math.min(...distances));
  }

  protected touched(row: Row, left: number, right: number): Range {
    const { width } = this.#measures;
    const boxes = row.boxes!;
    const first = boxes.findIndex((box) => box.left + box.width >= left * width);
    const last = boxes.findLastIndex((box) => box.left <= right * width);
    return first < 0 ? [row.to, row.to] : [row.from + first, row.from + last + 1];
  }
}
