/** The pause after too many attempts. Create it with a component. */
import { Failure } from "./api";

export class Countdown {
  private until = $state(0);
  private now = $state(Date.now());
  /** Seconds until the next attempt is allowed, 0 when it is. */
  readonly seconds = $derived(Math.max(0, Math.ceil((this.until - this.now) / 1000)));
  private readonly runs = $derived(this.seconds > 0);

  constructor() {
    $effect(() => {
      if (!this.runs) return;
      const timer = setInterval(() => (this.now = Date.now()), 250);
      return () => clearInterval(timer);
    });
  }

  /** Starts if a request failed by the limit of attempts, and reports whether it did. */
  start(cause: unknown): boolean {
    if (!(cause instanceof Failure) || cause.code !== "RATE_LIMIT_EXCEEDED") return false;
    this.now = Date.now();
    this.until = this.now + (cause.retryAfter || 10_000);
    return true;
  }
}
