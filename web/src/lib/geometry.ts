/**
 * The positions of the entries of a long listing, computed without layout. Browsers limit the
 * height of an element to about 16 million pixels, so a longer listing is drawn on a shorter
 * canvas, and each pixel of scrolling moves it by more than a pixel.
 */
import type { Range, Ranges } from "./ranges";

export interface Section {
  count: number;
  columns: number;
  /** Pixels from the top of one row to the top of the next. */
  rowHeight: number;
}

/** The horizontal place of an entry in its row, in pixels. */
export interface Box {
  left: number;
  width: number;
}

export interface Row {
  number: number;
  /** The index range of its entries, half-open. */
  from: number;
  to: number;
  section: number;
  /** Pixels from the top, on the canvas of full height. */
  top: number;
  height: number;
  /** The places of its entries, where their widths differ. */
  boxes?: readonly Box[];
  /** The heading of a month above the row: the number of the month, and its top in pixels. */
  heading?: { month: number; top: number };
}

interface Placed extends Section {
  from: number;
  firstRow: number;
  rows: number;
  top: number;
}

export const tallest = 15_000_000;
/** The most rows that a layout keeps. */
const keptRows = 2000;

/** The rows of a listing on a canvas of full height. */
export abstract class Layout {
  readonly #rows = new Map<number, Row>();
  abstract readonly total: number;
  abstract readonly rowCount: number;
  /** Height in pixels without the limit. */
  abstract readonly fullHeight: number;
  protected abstract place(number: number): Row;
  abstract rowOf(index: number): Row;
  /** The number of the row at a distance in pixels from the top. */
  abstract rowAt(y: number): number;
  /** The index of the entry of a row that is below or above an entry of another row. */
  protected abstract beside(index: number, here: Row, there: Row): number;
  /** The entries of a row between two fractions of the width, from 0 to 1, as a half-open range. */
  protected abstract touched(row: Row, left: number, right: number): Range;

  get height(): number {
    return Math.min(this.fullHeight, tallest);
  }

  /** The number of lines: of rows and headings. */
  get lines(): number {
    return this.rowCount;
  }

  /** The number of a row among the lines, from 1. */
  line(row: Row): number {
    return row.number + 1;
  }

  /** Converts a scroll position on the drawn canvas to one on the full canvas, in pixels. */
  full(scroll: number, viewport: number): number {
    if (this.height === this.fullHeight) return scroll;
    const room = Math.max(1, this.height - viewport);
    return (Math.min(Math.max(scroll, 0), room) / room) * (this.fullHeight - viewport);
  }

  /** The inverse of `full`. */
  scrollTo(full: number, viewport: number): number {
    if (this.height === this.fullHeight) return full;
    return (full / Math.max(1, this.fullHeight - viewport)) * (this.height - viewport);
  }

  /** The row of this number; the same object each time. */
  row(number: number): Row {
    let row = this.#rows.get(number);
    if (!row) {
      row = this.place(number);
      if (this.#rows.size > keptRows) this.#rows.clear();
      this.#rows.set(number, row);
    }
    return row;
  }

  /**
   * The index that an arrow key leads to from an entry: `across` within a row and on to the next
   * row, `down` to the entry below or above.
   */
  step(index: number, across: number, down: number): number {
    let to = index + across;
    if (down !== 0) {
      const here = this.rowOf(index);
      const number = Math.min(this.rowCount - 1, Math.max(0, here.number + down));
      if (number === here.number) return index;
      to = this.beside(index, here, this.row(number));
    }
    return Math.min(this.total - 1, Math.max(0, to));
  }

  /**
   * The entries that a rectangle on the full canvas touches; x is a fraction of the width, from 0
   * to 1.
   */
  within(left: number, top: number, right: number, bottom: number): Ranges {
    const found: [number, number][] = [];
    if (this.total === 0 || bottom < 0 || top > this.fullHeight || right < 0 || left > 1) return found;
    for (let number = this.rowAt(top); number <= this.rowAt(bottom); number++) {
      const row = this.row(number);
      if (row.top > bottom || row.top + row.height < top) continue;
      const [from, to] = this.touched(row, left, right);
      if (from >= to) continue;
      const last = found.at(-1);
      if (last && last[1] === from) last[1] = to;
      else found.push([from, to]);
    }
    return found;
  }
}

/** Sections with rows of equal height and columns of equal width. */
export class Geometry extends Layout {
  readonly #sections: Placed[] = [];
  readonly total: number;
  readonly rowCount: number;
  readonly fullHeight: number;

  constructor(sections: readonly Section[], gap: number) {
    super();
    let from = 0;
    let firstRow = 0;
    let top = 0;
    for (const section of sections) {
      const rows = Math.ceil(section.count / section.columns);
      if (rows > 0 && top > 0) top += gap;
      this.#sections.push({ ...section, from, firstRow, rows, top });
      from += section.count;
      firstRow += rows;
      top += rows * section.rowHeight;
    }
    this.total = from;
    this.rowCount = firstRow;
    this.fullHeight = top;
  }

  protected place(number: number): Row {
    const section = this.#sections.findLastIndex((one) => one.rows > 0 && one.firstRow <= number);
    const { from, count, columns, firstRow, rowHeight, top } = this.#sections[section]!;
    const nth = number - firstRow;
    return {
      number,
      from: from + nth * columns,
      to: from + Math.min(count, (nth + 1) * columns),
      section,
      top: top + nth * rowHeight,
      height: rowHeight,
    };
  }

  rowOf(index: number): Row {
    const { from, columns, firstRow } = this.#sectionOf(index);
    return this.row(firstRow + Math.floor((index - from) / columns));
  }

  #sectionOf(index: number): Placed {
    return this.#sections.findLast((one) => one.rows > 0 && one.from <= index) ?? this.#sections[0]!;
  }

  rowAt(y: number): number {
    const section = this.#sections.findLast((one) => one.rows > 0 && one.top <= y) ?? this.#sections[0];
    if (!section) return 0;
    const nth = Math.min(section.rows - 1, Math.floor((y - section.top) / section.rowHeight));
    return Math.max(0, section.firstRow + Math.max(0, nth));
  }

  /** The entry in the column at the horizontal position of another one. */
  protected beside(index: number, here: Row, there: Row): number {
    const columns = this.#sections[here.section]!.columns;
    const others = this.#sections[there.section]!.columns;
    return Math.min(there.to - 1, there.from + Math.floor(((index - here.from + 0.5) / columns) * others));
  }

  protected touched(row: Row, left: number, right: number): Range {
    const { columns } = this.#sections[row.section]!;
    const from = row.from + Math.max(0, Math.floor(left * columns));
    return [from, Math.min(row.to, row.from + Math.floor(Math.min(right, 0.9999) * columns) + 1)];
  }
}
