/** Sends request bodies by XMLHttpRequest, because fetch reports no upload progress. */
import {
  accountHeaders,
  checkAccount,
  csrf,
  isSessionEnd,
  failure,
  Failure,
  forgetCsrf,
  pause,
  reached,
  ready,
  signInAgain,
  retryAfter,
  backoff,
} from "../api";

/**
 * Timeouts in ms: `stalled` without upload progress, `silent` between the last byte and the
 * response. After them the connection counts as broken.
 */
const stalled = 2 * 60_000;
const silent = 5 * 60_000;

interface Sent {
  status: number;
  body: unknown;
  headers: Headers;
}

interface How {
  method?: "PUT" | "POST";
  headers?: Record<string, string>;
  /** Receives the number of bytes of this body that were sent. */
  progress: (loaded: number) => void;
  signal: AbortSignal;
}

/**
 * Sends one request, PUT by default. Rejects with a Failure NETWORK when no response comes, and
 * with the signal's reason.
 */
export function request(
  url: string,
  body: Blob,
  { method = "PUT", headers = {}, progress, signal }: How,
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const xhr = new XMLHttpRequest();
    let watch = setTimeout(broken, stalled);
    const alive = (limit: number) => {
      clearTimeout(watch);
      watch = setTimeout(broken, limit);
    };
    function over() {
      clearTimeout(watch);
      signal.removeEventListener("abort", stop);
    }
    function broken() {
      over();
      xhr.abort();
      reject(new Failure("NETWORK", "The connection is broken."));
    }
    function stop() {
      over();
      xhr.abort();
      reject(signal.reason as Error);
    }
    xhr.open(method, url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    xhr.upload.onprogress = (event) => {
      alive(stalled);
      progress(event.loaded);
    };
    xhr.upload.onload = () => alive(silent);
    xhr.onerror = broken;
    xhr.onload = () => {
      over();
      resolve({ status: xhr.status, body: parse(xhr.responseText), headers: readable(xhr) });
    };
    signal.addEventListener("abort", stop, { once: true });
    xhr.send(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the response of a proxy or a store
  }
}

/** The headers that the page may read. */
function readable(xhr: XMLHttpRequest): Headers {
  const headers = new Headers();
  for (const line of xhr.getAllResponseHeaders().trim().split(/\r?\n/)) {
    const at = line.indexOf(":");
    if (at > 0) headers.append(line.slice(0, at), line.slice(at + 1).trim());
  }
  return headers;
}

/**
 * Sends a PUT to the service, with the same handling as its other requests: the CSRF token, pauses
 * that the server asks for, renewed sessions. Resolves to the data of the response.
 */
export async function putToService<Data>(
  path: string,
  body: Blob,
  type: string,
  how: Omit<How, "headers" | "method">,
): Promise<Data> {
  for (let tries = 0, renewed = false; ; tries++) {
    await ready(how.signal);
    const token = await csrf();
    const headers = { Accept: "application/json", "Content-Type": type, "X-CSRF-Token": token, ...accountHeaders() };
    let sent: Sent;
    try {
      sent = await request(path, body, { ...how, headers });
    } catch (cause) {
      if (cause instanceof Failure) reached(false);
      throw cause;
    }
    reached(true);
    await checkAccount(sent.headers);
    if (sent.status >= 200 && sent.status < 300) return (sent.body as { data: Data }).data;
    how.progress(0);
    const failed = failure(sent.body, sent.status, sent.headers);
    if (sent.status === 429) pause(failed.retryAfter || backoff(tries));
    else if (failed.code === "INVALID_CSRF" && !renewed) {
      renewed = true;
      forgetCsrf();
    } else if (!(isSessionEnd(failed.code) && (await signInAgain(failed.code)))) throw failed;
  }
}

/**
 * Sends a PUT to a store, at a pre-signed address. Resolves to the ETag, null when the page may not
 * read it.
 */
export async function putToStore(
  url: string,
  body: Blob,
  how: Omit<How, "headers" | "method">,
): Promise<string | null> {
  const sent = await request(url, body, how);
  if (sent.status >= 200 && sent.status < 300) return sent.headers.get("ETag");
  how.progress(0);
  throw new Failure("STORE", `HTTP ${sent.status}`, sent.status, retryAfter(sent.headers.get("Retry-After")));
}
