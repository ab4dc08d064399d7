/**
 * The stores that this browser cannot reach: the network blocks them, or their bucket has no CORS
 * rules, which a page cannot tell apart. Remembered for an hour, so that not every file tries
 * again.
 */
const key = "larder.indirect";
const memory = 3_600_000; // ms

type Times = Record<string, number>;

function read(): Times {
  try {
    const all = JSON.parse(localStorage.getItem(key) ?? "{}") as Times;
    return Object.fromEntries(Object.entries(all).filter(([, until]) => until > Date.now()));
  } catch {
    return {};
  }
}

/** Stores to which an upload has succeeded: a failure there is a failure of the network. */
const proven = new Set<string>();

export function unreachable(url: string): boolean {
  return new URL(url).origin in read();
}

export function isProvenReachable(url: string): boolean {
  return proven.has(new URL(url).origin);
}

export function markReachable(url: string): void {
  proven.add(new URL(url).origin);
}

export function markUnreachable(url: string): void {
  try {
    localStorage.setItem(key, JSON.stringify({ ...read(), [new URL(url).origin]: Date.now() + memory }));
  } catch {
    // without storage, the next file tries the store again
  }
}
