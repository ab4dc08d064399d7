/** The requests that the service worker answers, and the answers that it caches. */

/** The part of a request that decides. */
export interface Asked {
  method: string;
  /** The browser opens the address as a page. */
  navigates: boolean;
  url: string;
}

/** The service worker answers a page or an asset, receives files, or leaves the request alone. */
export type Decision = "page" | "asset" | "files" | "none";

/** The addresses below /app/ that are neither a page nor an asset. */
const others = ["/app/sw.js", "/app/manifest.webmanifest"];

/**
 * Decides about a request. `origin` is that of the site. The interface, stored files, the pages of
 * shares and other sites never pass through the worker.
 */
export function decide({ method, navigates, url }: Asked, origin: string): Decision {
  const to = new URL(url);
  if (to.origin !== origin) return "none";
  const path = to.pathname;
  if (method === "POST") return navigates && path === "/app/share-target" ? "files" : "none";
  if (method !== "GET") return "none";
  // An address with a query is not cached: there could be any number of them.
  if (path.startsWith("/app/assets/")) return to.search === "" ? "asset" : "none";
  return navigates && path.startsWith("/app/") && !others.includes(path) ? "page" : "none";
}

/** The part of an answer that decides. */
export interface Answered {
  status: number;
  redirected: boolean;
  headers: Headers;
}

const typeOf = ({ headers }: Answered) => (headers.get("Content-Type") ?? "").split(";")[0]!.trim().toLowerCase();

/**
 * Reports whether an answer to an asset may be kept for ever: only the service marks it so, in
 * contrast to the page of a proxy that asks for a password.
 */
export function isAsset(answer: Answered): boolean {
  const cache = (answer.headers.get("Cache-Control") ?? "").toLowerCase();
  return answer.status === 200 && !answer.redirected && cache.includes("immutable") && typeOf(answer) !== "text/html";
}

/**
 * Reports whether an answer is the page of this build, whose text contains the address of its
 * script. Pages of failures (status 4xx), of other builds and of proxies are not.
 */
export function isShell(answer: Answered, text: string, entry: string): boolean {
  return answer.status === 200 && !answer.redirected && typeOf(answer) === "text/html" && text.includes(`"${entry}"`);
}
