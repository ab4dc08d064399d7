/**
 * The addresses of pictures that could not be loaded: for good, or until a later try, when the
 * server was away, busy or at fault.
 */
import { accountHeadersFor, backoff, checkAccount, retryAfter } from "./api";

/** The longest pause that a server may ask for, in ms. */
const longest = 300_000;
/** How long the server may take to say why a picture could not be loaded, in ms. */
const patience = 5_000;
/** How many addresses are kept. */
const most = 10_000;

/** The addresses, and whether they are tried again. */
const lost = new Map<string, boolean>();
/** Addresses that a server has answered although the picture could not be loaded. */
const doubtful = new Set<string>();
let version = $state(0);
let tries = 0;
/** Until then (ms since the epoch) a busy server is not asked about further pictures. */
let quiet = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Reports whether the picture at an address cannot be shown. Reactive. */
export function isLost(address: string): boolean {
  return version >= 0 && lost.has(address);
}

/** Loads the pictures again that may be there now. */
export function retryPictures(): void {
  clearTimeout(timer);
  timer = undefined;
  for (const [address, again] of lost) if (again) lost.delete(address);
  version++;
}

/** A picture could be loaded, so the next failure begins with a short pause. */
export function found(address: string): void {
  tries = 0;
  doubtful.delete(address);
}

/**
 * Asks the server why the picture at an address could not be loaded. The picture is lost until the
 * server may have it again. A picture that fails twice although the server answers is none.
 */
export async function lose(address: string): Promise<void> {
  if (lost.size >= most) {
    lost.clear();
    doubtful.clear();
  }
  lost.set(address, true);
  version++;
  if (timer && Date.now() < quiet) return;
  const signal = AbortSignal.timeout(patience);
  const headers = accountHeadersFor(address);
  const answer = await fetch(address, { method: "HEAD", headers, redirect: "manual", signal }).catch(() => undefined);
  if (answer) await checkAccount(answer.headers);
  const status = answer?.status ?? 503;
  const refused = status >= 400 && status < 500 && status !== 401 && status !== 429;
  if (refused || (status < 400 && doubtful.delete(address))) {
    lost.set(address, false);
    return;
  }
  if (status < 400) doubtful.add(address);
  const asked = retryAfter(answer?.headers.get("Retry-After") ?? null);
  const wait = Math.min(longest, asked || backoff(tries++));
  if (status === 429 || status === 503) quiet = Date.now() + wait;
  timer ??= setTimeout(retryPictures, wait);
}
