/** Retries of temporary failures, and the limit of parallel requests. */
import { backoff, client, Failure, sleep } from "../api";

const repetitions = 5;

/**
 * Reports whether the same request may succeed later. Waiting after 429 happens in lib/api.ts. The
 * server marks other temporary failures by a Retry-After header.
 */
export function isTemporary(cause: Failure): boolean {
  return (
    cause.code === "NETWORK" ||
    cause.status === 408 ||
    cause.status === 429 ||
    cause.status >= 500 ||
    cause.retryAfter > 0
  );
}

/** Resolves when the browser is online. */
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

/** Reports whether the service responds to nothing at all. */
async function isServiceUnreachable(signal: AbortSignal): Promise<boolean> {
  try {
    await client.GET("/api/public/health/live", { signal });
    return false;
  } catch (cause) {
    signal.throwIfAborted();
    return cause instanceof Failure && cause.code === "NETWORK";
  }
}

/**
 * Runs some work and retries it after temporary failures. Offline time does not count as an
 * attempt. The retries go on while the service cannot be reached, which the page shows. Throws
 * failures that are not temporary.
 */
export async function withRetry<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let n = 0; ;) {
    await online(signal);
    try {
      return await work();
    } catch (cause) {
      signal.throwIfAborted();
      if (!(cause instanceof Failure) || !isTemporary(cause)) throw cause;
      if (cause.code === "NETWORK" && !navigator.onLine) continue;
      if (n === repetitions && !(cause.code === "NETWORK" && (await isServiceUnreachable(signal)))) throw cause;
      await sleep(cause.retryAfter || backoff(n), signal);
      n = Math.min(n + 1, repetitions);
    }
  }
}

/** Limits the work that runs in parallel; the rest waits in order of arrival. */
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
