/** How failures that pass are sat out, and how many requests go at once. */
import { backoff, client, Failure, sleep } from "../api";

const repetitions = 5;

/** Whether the same request may go well later. 429 does not come here: it holds everything back, see lib/api.ts. Others say so by a Retry-After. */
export function passes(cause: Failure): boolean {
  return (
    cause.code === "NETWORK" ||
    cause.status === 408 ||
    cause.status === 429 ||
    cause.status >= 500 ||
    cause.retryAfter > 0
  );
}

/** Resolves when the browser has a network. */
export async function online(signal: AbortSignal): Promise<void> {
  while (!navigator.onLine) {
    await new Promise<void>((resolve, reject) => {
      const over = () => {
        window.removeEventListener("online", over);
        signal.removeEventListener("abort", over);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve();
      };
      window.addEventListener("online", over);
      signal.addEventListener("abort", over);
      if (signal.aborted) over();
    });
  }
}

/** Whether the service gives no answer to anything. */
async function away(signal: AbortSignal): Promise<boolean> {
  try {
    await client.GET("/api/public/health/live", { signal });
    return false;
  } catch (cause) {
    signal.throwIfAborted();
    return cause instanceof Failure && cause.code === "NETWORK";
  }
}

/**
 * Does some work, again and again while it fails by what passes. Being offline counts against nothing, and a service that is away is waited for, since
 * the page says so. Throws what does not pass.
 */
export async function persevere<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let n = 0; ;) {
    await online(signal);
    try {
      return await work();
    } catch (cause) {
      signal.throwIfAborted();
      if (!(cause instanceof Failure) || !passes(cause)) throw cause;
      if (cause.code === "NETWORK" && !navigator.onLine) continue;
      if (n === repetitions && !(cause.code === "NETWORK" && (await away(signal)))) throw cause;
      await sleep(cause.retryAfter || backoff(n), signal);
      n = Math.min(n + 1, repetitions);
    }
  }
}

/** Lets so many pieces of work run at once, the others in the order in which they came. */
export class Slots {
  private free: number;
  private waiting: (() => void)[] = [];

  constructor(count: number) {
    this.free = count;
  }

  async use<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.free++;
    }
  }
}
