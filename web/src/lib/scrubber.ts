/** The positions on the track of a date scrubber: fractions of its height, from 0 to 1. */

interface MonthAt {
  /** For example 2025-07. */
  month: string;
  /** Pixels from the top of the canvas. */
  top: number;
}

/** A year beside the track. */
export interface YearMark {
  year: string;
  at: number;
}

export class Track {
  /** The distance in pixels that the page can be scrolled. */
  readonly #room: number;

  /**
   * The canvas begins `above` pixels below the top of the window, where the toolbar ends, and
   * scrolls until its lower edge is at that of the window.
   */
  constructor(
    private readonly months: readonly MonthAt[],
    fullHeight: number,
    viewport: number,
    private readonly above: number,
  ) {
    this.#room = Math.max(1, fullHeight - viewport + above);
  }

  /** The position that shows a part of the canvas below the toolbar, in pixels from its top. */
  #of(top: number): number {
    return Math.min(1, Math.max(0, top / this.#room));
  }

  /** The position of the page when the canvas is so many pixels above the top of the window. */
  at(full: number): number {
    return this.#of(full + this.above);
  }

  /** The inverse of `at`. */
  full(at: number): number {
    return at * this.#room - this.above;
  }

  ofMonth(month: number): number {
    return this.#of(this.months[month]!.top);
  }

  /** The number of the month that a position leads to: the last one at the end of the track. */
  monthAt(at: number): number {
    if (at >= 1) return this.months.length - 1;
    const top = at * this.#room + 0.5; // the scroll position is rounded
    return Math.max(
      0,
      this.months.findLastIndex((month) => month.top <= top),
    );
  }

  /**
   * The number of the month that a key leads to from another one, undefined for other keys. Months
   * without pictures are passed over.
   */
  step(month: number, key: string): number | undefined {
    const last = this.months.length - 1;
    switch (key) {
      case "ArrowUp":
      case "ArrowLeft":
        return Math.max(0, month - 1);
      case "ArrowDown":
      case "ArrowRight":
        return Math.min(last, month + 1);
      case "PageUp":
        return this.#yearFrom(month, 1);
      case "PageDown":
        return this.#yearFrom(month, -1);
      case "Home":
        return 0;
      case "End":
        return last;
    }
    return undefined;
  }

  /** The number of the month a year later or earlier, or else the nearest one in that direction. */
  #yearFrom(month: number, by: 1 | -1): number {
    const { month: name } = this.months[month]!;
    const wanted = `${String(Number(name.slice(0, 4)) + by).padStart(4, "0")}${name.slice(4)}`;
    const found = this.months.findIndex((one) => one.month <= wanted); // the newest comes first
    if (by > 0) return Math.max(0, Math.min(found, month - 1));
    return found < 0 ? this.months.length - 1 : found;
  }

  /**
   * The years at their first months from the top. A year that is nearer than `least` pixels to the
   * one above it is left out.
   */
  years(height: number, least: number): YearMark[] {
    const marks: YearMark[] = [];
    let year = "";
    for (const [nth, { month }] of this.months.entries()) {
      if (month.slice(0, 4) === year) continue;
      year = month.slice(0, 4);
      const at = this.ofMonth(nth);
      const before = marks.at(-1);
      if (!before || (at - before.at) * height >= least) marks.push({ year, at });
    }
    return marks;
  }
}
