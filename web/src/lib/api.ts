/**
 * The client of the JSON interface. Its types are made from the service's own OpenAPI document, so that a change there breaks the build here.
 *
 * Every request goes through `send`: it adds the CSRF token to writes, waits out 429, and has a lost session renewed before it goes on. Failures
 * are thrown as `Failure`, whose codes are those of the interface, or NETWORK.
 */
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

/** Why a request failed. `code` is the interface's, or NETWORK when no answer came. */
export class Failure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status = 0,
    /** Milliseconds until it is worth another try, as the server says; 0 for nothing said. */
    readonly retryAfter = 0,
    /** Server time in ms, to quote to the administrator. */
    readonly timestamp = 0,
  ) {
    super(message);
    this.name = "Failure";
  }
}

/** What the rest of the page has to know of the connection; set once, by the shell. */
export interface Listener {
  /** The server asks for a pause until that time (ms since the epoch), 0 when it is over. */
  paused(until: number): void;
  /** Whether the last request reached the server. */
  reached(yes: boolean): void;
  /** The session has ended. Resolves to true when somebody has signed in again, and the request is to be repeated. */
  sessionLost(code: string): Promise<boolean>;
}

let listener: Listener = { paused: () => {}, reached: () => {}, sessionLost: async () => false };

export function listen(to: Listener): void {
  listener = to;
}

/** For what sends requests of its own: whether the server could be reached. */
export function reached(yes: boolean): void {
  listener.reached(yes);
}

const endings = ["UNAUTHORIZED", "SESSION_REVOKED", "ROLE_CHANGED", "USER_DISABLED"];

/** Whether a code says that the session has ended. Whoever sends requests of his own asks `regain` then, and repeats when that is true. */
export function ended(code: string): boolean {
  return endings.includes(code);
}

/** Has somebody sign in again. Resolves to whether the request is to be repeated. */
export function regain(code: string): Promise<boolean> {
  forgetCsrf();
  return listener.sessionLost(code);
}

const csrfLifetime = 100 * 60_000; // the server's is two hours
let csrfToken: { value: string; until: number } | undefined;
let csrfAsked: Promise<string> | undefined;

/** The token that writes need, fetched before the first of them. */
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

/** Forgets the token, which belongs to the session that has ended. */
export function forgetCsrf(): void {
  csrfToken = undefined;
}

let pausedUntil = 0;

/** Resolves when the server's pause is over. Whatever sends requests of its own waits here before each, and reports a 429 to `pause`. */
export async function ready(signal?: AbortSignal): Promise<void> {
  while (pausedUntil > Date.now()) await sleep(pausedUntil - Date.now(), signal);
}

/** Keeps all requests back for so many milliseconds. */
export function pause(ms: number): void {
  pausedUntil = Math.max(pausedUntil, Date.now() + ms);
  const until = pausedUntil;
  listener.paused(until);
  setTimeout(() => until === pausedUntil && listener.paused(0), ms);
}

/** Waits. Rejects with the signal's reason when that comes first. */
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

/** How long to wait for the n-th repetition (from 0) of what the server said no more about: 2 s doubling to 32 s, and up to half of it more. */
export function backoff(n: number): number {
  return 2000 * 2 ** Math.min(n, 4) * (1 + Math.random() / 2);
}

/** Milliseconds of a Retry-After header in seconds, 0 without one. */
export function retryAfter(value: string | null): number {
  return value && /^\d+$/.test(value) ? Number(value) * 1000 : 0;
}

/** What openapi-fetch makes of a call, in the place of a Request: the body of one is read once, and copies for another try cost a millisecond each. */
class Call {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | null;
  readonly signal: AbortSignal | undefined;
  constructor(
    readonly url: string,
    { method = "GET", headers, body, signal }: RequestInit = {},
  ) {
    this.method = method;
    this.headers = new Headers(headers);
    this.body = (body as string | null | undefined) ?? null; // JSON
    this.signal = signal ?? undefined;
  }
}

/** Sends a request and everything that goes with it; see above. */
async function send({ url, method, headers, body, signal }: Call): Promise<Response> {
  const { pathname: path, search } = new URL(url);
  const writes = method !== "GET" && method !== "HEAD";
  // What asks for credentials says itself how it went, and needs no token. The token itself needs the session.
  const plain =
    (path.startsWith("/api/auth/") && path !== "/api/auth/csrf-token") ||
    path.startsWith("/api/public/") ||
    path.startsWith("/api/free-mode/");
  for (let tries = 0, renewed = false; ; tries++) {
    await ready(signal);
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
    if (answer.ok || plain) return answer;
    // A limit of wrong passwords holds back no other request, and the page must not repeat the try.
    if (answer.status === 429 && path.endsWith("/verify-password")) return answer;
    if (answer.status === 429) {
      pause(retryAfter(answer.headers.get("Retry-After")) || backoff(tries));
      continue;
    }
    if (answer.status !== 401 && answer.status !== 403) return answer;
    const code = await codeOf(answer);
    if (code === "INVALID_CSRF" && !renewed) {
      renewed = true;
      forgetCsrf();
      continue;
    }
    if (ended(code) && (await regain(code))) continue;
    return answer;
  }
}

/** The code of a failure, its body left to be read. */
async function codeOf(answer: Response): Promise<string> {
  try {
    return ((await answer.clone().json()) as { error: { code: string } }).error.code;
  } catch {
    return "";
  }
}

export const client = createClient<paths>({
  baseUrl: location.origin,
  Request: Call as unknown as typeof Request,
  fetch: send as unknown as (call: Request) => Promise<Response>,
  headers: { Accept: "application/json" },
});

/** The data within an envelope. */
type Data<Envelope> = Envelope extends { data: infer D } ? D : undefined;

/** The data of a success. Throws Failure. */
export async function take<Envelope>(
  answer: Promise<{ data?: Envelope; error?: unknown; response: Response }>,
): Promise<Data<Envelope>> {
  const { data, error, response } = await answer;
  if (data !== undefined && response.ok) return (data as { data: Data<Envelope> }).data;
  throw failure(error, response.status, response.headers);
}

/** The failure that an answer tells of, envelope or not. */
export function failure(body: unknown, status: number, headers?: Headers): Failure {
  const told = body as { error?: { code?: string; message?: string }; timestamp?: number } | undefined;
  return new Failure(
    told?.error?.code ?? (status === 429 ? "RATE_LIMIT_EXCEEDED" : "INTERNAL_ERROR"),
    told?.error?.message ?? `HTTP ${status}`,
    status,
    retryAfter(headers?.get("Retry-After") ?? null),
    told?.timestamp ?? Date.now(),
  );
}
