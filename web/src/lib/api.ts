/**
 * The client of the JSON API. Its types are generated from the service's own OpenAPI document, so
 * that an incompatible change breaks the build.
 *
 * Every request goes through `send`: it adds the CSRF token to writes, waits after a 429, and asks
 * the user to sign in again after a lost session before it repeats the request. Failures are thrown
 * as `Failure`. Their codes are those of the API, or NETWORK.
 */
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

/** The reason why a request failed. `code` is that of the API, or NETWORK when no response came. */
export class Failure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status = 0,
    /** Milliseconds to wait before a retry, as the server says; 0 when the server says nothing. */
    readonly retryAfter = 0,
    /** The id by which an administrator finds the request in the log, "" for none. */
    readonly requestId = "",
    /** The field of the request that is at fault, "" when the server does not say it. */
    readonly field = "",
    /** The entry whose name an upload cannot take, if the user may see it. */
    readonly existing?: Schemas["ApiExistingReply"],
  ) {
    super(message);
    this.name = "Failure";
  }
}

/** Receives changes of the connection. The session module sets it once. */
export interface Listener {
  /** The server asks for a pause until this time (ms since the epoch); 0 when the pause is over. */
  paused(until: number): void;
  /** Tells whether the last request reached the server. */
  reached(yes: boolean): void;
  /**
   * The session has ended. Resolves to true when the user has signed in again and the request must
   * be repeated.
   */
  sessionLost(code: string): Promise<boolean>;
  /** The session belongs to another account than the page. */
  accountChanged(): void;
}

let listener: Listener = {
  paused: () => {},
  reached: () => {},
  sessionLost: async () => false,
  accountChanged: () => {},
};

export function listen(to: Listener): void {
  listener = to;
}

/** Reports whether the server was reached, for modules that send requests themselves. */
export function reached(yes: boolean): void {
  listener.reached(yes);
}

const accountHeader = "X-Larder-Account";
const never = new Promise<never>(() => {});
let account = "";
let halted = false;

/** Sets the account that requests are made for, by its id; "" for a visitor. */
export function actFor(id: string): void {
  account = id;
}

/** The id of the account that requests are made for, "" for a visitor. */
export const actsFor = (): string => account;

/**
 * The header that names the account of the page. The service refuses the request if the session
 * belongs to another account.
 */
export function accountHeaders(): Record<string, string> {
  return account ? { [accountHeader]: account } : {};
}

/**
 * As accountHeaders, for an address of bytes. There are none for another service, and for the
 * gateway: that address contains a token, which may be valid once.
 */
export function accountHeadersFor(address: string): Record<string, string> {
  if (!account) return {};
  const { origin, pathname } = new URL(address, location.href);
  return origin === location.origin && !pathname.startsWith("/api/gateway/") ? accountHeaders() : {};
}

/**
 * Stops all requests of this page for good, because it shows an account that is no longer signed
 * in. Requests then never settle: the page is about to be reloaded.
 */
export function halt(): void {
  halted = true;
}

/** Reports whether the page has stopped its requests. */
export function isHalted(): boolean {
  return halted;
}

/**
 * Waits for ever if a response says that the session belongs to another account. Modules that send
 * requests themselves call it with each response.
 */
export async function checkAccount(headers: Headers): Promise<void> {
  if (!halted && headers.has(accountHeader)) {
    halt();
    listener.accountChanged();
  }
  if (halted) await never;
}

const endings = ["UNAUTHORIZED", "INVALID_TOKEN", "SESSION_REVOKED", "ROLE_CHANGED", "USER_DISABLED"];

/**
 * Reports whether a code means that the session has ended. Modules that send requests themselves
 * then call `signInAgain` and repeat the request if it resolves to true.
 */
export function isSessionEnd(code: string): boolean {
  return endings.includes(code);
}

/** Asks the user to sign in again. Resolves to whether the request must be repeated. */
export function signInAgain(code: string): Promise<boolean> {
  forgetCsrf();
  return listener.sessionLost(code);
}

const csrfLifetime = 100 * 60_000; // below the server's two hours
let csrfToken: { value: string; until: number } | undefined;
let csrfAsked: Promise<string> | undefined;

/** The CSRF token for writes. The first write fetches it. */
export function csrf(): Promise<string> {
  if (csrfToken && csrfToken.until > Date.now()) return Promise.resolve(csrfToken.value);
  csrfAsked ??= take(client.GET("/api/auth/csrf-token"))
    .then(({ token: value }) => {
      csrfToken = { value, until: Date.now() + csrfLifetime };
      return value;
    })
    .finally(() => (csrfAsked = undefined));
  return csrfAsked;
}

/** Drops the token, which belongs to a session that has ended. */
export function forgetCsrf(): void {
  csrfToken = undefined;
}

let pausedUntil = 0;

/**
 * Resolves when the server's pause is over. Modules that send requests themselves wait here before
 * each request, and report a 429 to `pause`.
 */
export async function ready(signal?: AbortSignal): Promise<void> {
  if (halted) await never;
  while (pausedUntil > Date.now()) await sleep(pausedUntil - Date.now(), signal);
}

/** Delays all requests by this many milliseconds. */
export function pause(ms: number): void {
  pausedUntil = Math.max(pausedUntil, Date.now() + ms);
  const until = pausedUntil;
  listener.paused(until);
  setTimeout(() => until === pausedUntil && listener.paused(0), ms);
}

/** Waits. Rejects with the signal's reason when the signal is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    }
  });
}

/**
 * Milliseconds before the n-th retry (from 0) when the server gave no time: 2 s, doubling to 32 s,
 * plus up to half of that at random.
 */
export function backoff(n: number): number {
  return 2000 * 2 ** Math.min(n, 4) * (1 + Math.random() / 2);
}

/** Milliseconds of a Retry-After header in seconds, 0 without one. */
export function retryAfter(value: string | null): number {
  return value && /^\d+$/.test(value) ? Number(value) * 1000 : 0;
}

/** Reports whether an answer is a 429, and delays all requests as it says. */
export function pausedBy(answer: Response, tries = 0): boolean {
  if (answer.status !== 429) return false;
  pause(retryAfter(answer.headers.get("Retry-After")) || backoff(tries));
  return true;
}

/**
 * Replaces the Request that openapi-fetch creates for a call: the body of a Request can be read
 * only once, and a copy for a retry takes about a millisecond.
 */
class Call {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | Blob | null;
  readonly signal: AbortSignal | undefined;
  constructor(
    readonly url: string,
    { method = "GET", headers, body, signal }: RequestInit = {},
  ) {
    this.method = method;
    this.headers = new Headers(headers);
    this.body = (body as string | Blob | null | undefined) ?? null; // JSON, or a file
    this.signal = signal ?? undefined;
  }
}

/**
 * Sends a request with token, pauses and retries; see above. `named` requests are for the account
 * of the page only. A request that does not ask leaves a session that has ended to the next one.
 */
async function send({ url, method, headers, body, signal }: Call, named: boolean, asks: boolean): Promise<Response> {
  const { pathname: path, search } = new URL(url);
  const writes = method !== "GET" && method !== "HEAD";
  // Endpoints that take credentials report the result themselves and need no token, and public
  // ones need no session. The token endpoint needs the session.
  const plain =
    (path.startsWith("/api/auth/") && path !== "/api/auth/csrf-token") ||
    path.startsWith("/api/public/") ||
    /^\/api\/shares\/[^/]+\/verify$/.test(path) ||
    path.startsWith("/api/free-mode/");
  for (let tries = 0, renewed = false; ; tries++) {
    await ready(signal);
    if (named) for (const [name, value] of Object.entries(accountHeaders())) headers.set(name, value);
    if (writes && !plain) headers.set("X-CSRF-Token", await csrf());
    let answer: Response;
    try {
      const begun = writes ? undefined : window.larderBoot?.[path + search];
      if (begun) delete window.larderBoot![path + search];
      answer = await (begun ?? fetch(url, { method, headers, body, signal }));
    } catch (cause) {
      signal?.throwIfAborted();
      listener.reached(false);
      throw new Failure("NETWORK", cause instanceof Error ? cause.message : String(cause));
    }
    listener.reached(true);
    await checkAccount(answer.headers);
    if (answer.ok || (plain && !path.startsWith("/api/public/files"))) return answer;
    // A limit of wrong passwords, codes, mails or pictures delays no other request, and the page
    // must not repeat the attempt.
    if (answer.status === 429 && ownLimit.test(path)) return answer;
    if (pausedBy(answer, tries)) continue;
    if (plain || (answer.status !== 401 && answer.status !== 403)) return answer;
    const code = await codeOf(answer);
    if (code === "INVALID_CSRF" && !renewed) {
      renewed = true;
      forgetCsrf();
      continue;
    }
    if (isSessionEnd(code) && asks && (await signInAgain(code))) continue;
    return answer;
  }
}

/** The code of a failed response. The body can still be read afterwards. */
async function codeOf(answer: Response): Promise<string> {
  try {
    return ((await answer.clone().json()) as { error: { code: string } }).error.code;
  } catch {
    return "";
  }
}

/** Endpoints that count attempts by themselves. */
const ownLimit = /\/verify-password$|^\/api\/users\/me\/(password|avatar|email\/)/;

function sender(named: boolean, asks = true): (call: Request) => Promise<Response> {
  return (call) => send(call as unknown as Call, named, asks);
}

/**
 * The `fetch` of a request that the user knows nothing of: it does not ask for the sign-in when the
 * session has ended.
 */
export const inBackground = sender(true, false);

/**
 * The settings of the account that is signed in now, whichever account the page shows. It does not
 * ask for the sign-in, which itself waits for the answer.
 */
export const whoIsSignedIn = () => client.GET("/api/users/me/settings", { fetch: sender(false, false) });

export const client = createClient<paths>({
  baseUrl: location.origin,
  Request: Call as unknown as typeof Request,
  fetch: sender(true),
  headers: { Accept: "application/json" },
});

/** The type of the data in an envelope. */
type Data<Envelope> = Envelope extends { data: infer D } ? D : undefined;

/** Resolves to the data of a successful response. Throws Failure. */
export async function take<Envelope>(
  answer: Promise<{ data?: Envelope; error?: unknown; response: Response }>,
): Promise<Data<Envelope>> {
  const { data, error, response } = await answer;
  if (data !== undefined && response.ok) return (data as { data: Data<Envelope> }).data;
  throw failure(error, response.status, response.headers);
}

/** The Failure for a response body, with or without an envelope. */
export function failure(body: unknown, status: number, headers?: Headers): Failure {
  const told = body as { error?: Partial<Schemas["ApiFailureError"]> } | undefined;
  return new Failure(
    told?.error?.code ?? (status === 429 ? "RATE_LIMIT_EXCEEDED" : "INTERNAL_ERROR"),
    told?.error?.message ?? `HTTP ${status}`,
    status,
    retryAfter(headers?.get("Retry-After") ?? null),
    told?.error?.requestId ?? "",
    told?.error?.field ?? "",
    told?.error?.existing,
  );
}
