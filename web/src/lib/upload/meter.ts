/** How fast it goes, over the last seconds: steady enough to be read, quick enough to be true. */
const window = 8000; // ms

export class Meter {
  private marks: { at: number; bytes: number }[] = [];
  private total = 0;

  /** Notes bytes that have gone out since the last time. */
  add(bytes: number, now: number): void {
    this.total += Math.max(0, bytes);
    this.marks.push({ at: now, bytes: this.total });
    while (this.marks.length > 2 && this.marks[1]!.at < now - window) this.marks.shift();
  }

  reset(): void {
    this.marks = [];
  }

  /** Bytes in a second; 0 while there is too little to tell by. */
  get speed(): number {
    const [first, last] = [this.marks[0], this.marks.at(-1)];
    if (!first || !last || last.at - first.at < 1000) return 0;
    return ((last.bytes - first.bytes) * 1000) / (last.at - first.at);
  }
}
