/**
 * The positions of the entries of a long listing, computed without layout: sections with rows of
 * equal height. Browsers limit the height of an element to about 16 million pixels, so a longer
 * listing is drawn on a shorter canvas, and each pixel of scrolling moves it by more than a pixel.
 */
import type { Ranges } from "./ranges";

export interface Section {
  count: number;
  columns: number;
  /** Pixels from the top of one row to the top of the next. */
  rowHeight: number;
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
}

interface Placed extends Section {
  from: number;
  firstRow: number;
  rows: number;
  top: number;
}

export const tallest = 15_000_000;

export class Geometry {
  readonly #sections: Placed[] = [];
  readonly #rows = new Map<number, Row>();
  readonly total: number;
  readonly rowCount: number;
  /** Height in pixels without the limit. */
  readonly fullHeight: number;
  readonly height: number;

  constructor(sections: readonly Section[], gap: number) {
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
    this.height = Math.min(top, tallest);
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
      const section = this.#sections.findLastIndex((one) => one.rows > 0 && one.firstRow <= number);
      const { from, count, columns, firstRow, rowHeight, top } = this.#sections[section]!;
      const nth = number - firstRow;
      row = {
        number,
        from: from + nth * columns,
        to: from + Math.min(count, (nth + 1) * columns),
        section,
        top: top + nth * rowHeight,
        height: rowHeight,
      };
      if (this.#rows.size > 2000) this.#rows.clear();
      this.#rows.set(number, row);
    }
    return row;
  }

  rowOf(index: number): Row {
    const { from, columns, firstRow } = this.#sectionOf(index);
    return this.row(firstRow + Math.floor((index - from) / columns));
  }

  #sectionOf(index: number): Placed {
    return this.#sections.findLast((one) => one.rows > 0 && one.from <= index) ?? this.#sections[0]!;
  }

  /** The number of the row at a distance in pixels from the top. */
  rowAt(y: number): number {
    const section = this.#sections.findLast((one) => one.rows > 0 && one.top <= y) ?? this.#sections[0];
    if (!section) return 0;
    const nth = Math.min(section.rows - 1, Math.floor((y - section.top) / section.rowHeight));
    return Math.max(0, section.firstRow + Math.max(0, nth));
  }

  /**
   * The index that an arrow key leads to from an entry: `across` within a row and on to the next
   * row, `down` within its column.
   */
  step(index: number, across: number, down: number): number {
    let to = index + across;
    if (down !== 0) {
      const here = this.rowOf(index);
      const number = Math.min(this.rowCount - 1, Math.max(0, here.number + down));
      const row = this.row(number);
      if (number === here.number) return index;
      to = Math.min(row.to - 1, row.from + this.#column(index, here, row));
    }
    return Math.min(this.total - 1, Math.max(0, to));
  }

  /** The column of another row at the horizontal position of an entry. */
  #column(index: number, here: Row, there: Row): number {
    const columns = this.#sections[here.section]!.columns;
    const others = this.#sections[there.section]!.columns;
    return Math.floor(((index - here.from + 0.5) / columns) * others);
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
      const { columns } = this.#sections[row.section]!;
      const from = row.from + Math.max(0, Math.floor(left * columns));
      const to = Math.min(row.to, row.from + Math.floor(Math.min(right, 0.9999) * columns) + 1);
      if (from >= to) continue;
      const last = found.at(-1);
      if (last && last[1] === from) last[1] = to;
      else found.push([from, to]);
    }
    return found;
  }
}
