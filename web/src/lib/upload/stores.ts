/**
 * Which stores cannot be reached from here: a network that lets nothing through, or a bucket whose CORS rules are missing, which a page cannot tell
 * apart. Kept for an hour, so that not every file tries in vain.
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

/** Those that something has gone straight to: what fails there is the network. */
const proven = new Set<string>();

export function unreachable(url: string): boolean {
  return new URL(url).origin in read();
}

export function isProven(url: string): boolean {
  return proven.has(new URL(url).origin);
}

export function prove(url: string): void {
  proven.add(new URL(url).origin);
}

export function giveUp(url: string): void {
  try {
    localStorage.setItem(key, JSON.stringify({ ...read(), [new URL(url).origin]: Date.now() + memory }));
  } catch {
    // the next file tries it again
  }
}
