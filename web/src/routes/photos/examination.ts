/**
 * The server examines pictures in the background, and knows the proportions of a new one a moment
 * after its upload. While pictures without proportions are on the screen, the page asks for them
 * again: soon after a change, then less and less often, and at last no more, since some are never
 * known.
 */

const first = 1500; // ms
const longest = 60_000;
/** The most times that the page asks after a change. */
const most = 10;

export class Examination {
  #waiting = 0;
  #pause = first;
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly ask: () => Promise<unknown>) {}

  /** A picture without proportions is on the screen, until the returned function is called. */
  readonly wait = (): (() => void) => {
    this.#waiting++;
    this.#plan();
    return () => {
      this.#waiting--;
      if (this.#waiting === 0) this.stop();
    };
  };

  /** A folder has changed: the proportions of new pictures may be known soon. */
  readonly changed = (): void => {
    this.#pause = first;
    this.#asked = 0;
    this.stop();
    this.#plan();
  };

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #plan(): void {
    if (this.#waiting === 0 || this.#timer !== undefined || this.#asked === most) return;
    const timer = setTimeout(async () => {
      this.#pause = Math.min(longest, this.#pause * 2);
      if (!document.hidden) {
        this.#asked++;
        await this.ask();
      }
      if (this.#timer !== timer) return;
      this.#timer = undefined;
      this.#plan();
    }, this.#pause);
    this.#timer = timer;
  }
}
