/**
 * The speed over the last seconds: an interval long enough for a steady figure and short enough for
 * a current one.
 */
const window = 8000; // ms

export class Meter {
  private marks: { at: number; bytes: number }[] = [];
  private total = 0;

  /** Records bytes sent since the previous call. */
  add(bytes: number, now: number): void {
    this.total += Math.max(0, bytes);
    this.marks.push({ at: now, bytes: this.total });
    while (this.marks.length > 2 && this.marks[1]!.at < now - window) this.marks.shift();
  }

  reset(): void {
    this.marks = [];
  }

  /** Bytes per second; 0 while there is too little data. */
  get speed(): number {
    const [first, last] = [this.marks[0], this.marks.at(-1)];
    if (!first || !last || last.at - first.at < 1000) return 0;
    return ((last.bytes - first.bytes) * 1000) / (last.at - first.at);
  }
}
