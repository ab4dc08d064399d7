/** The router: the address as reactive state, and links that lead within the UI. */

/** The current address, decoded: `path` without a trailing slash, `query` as the part after `?`. */
class Route {
  path = $state(decodePath(location.pathname));
  query = $state.raw(new URLSearchParams(location.search));
}

export const route = new Route();

function decodePath(path: string): string {
  const segments = path.split("/").map((segment) => {
    try {
      return decodeURIComponent(segment);
    } catch {
      return segment;
    }
  });
  return segments.join("/").replace(/\/+$/, "") || "/";
}

/** The URL path of a virtual path below a prefix, each segment encoded. */
export function address(prefix: string, path: string): string {
  const segments = path.split("/").filter(Boolean).map(encodeURIComponent);
  return [prefix, ...segments].join("/");
}

function read(): void {
  route.path = decodePath(location.pathname);
  route.query = new URLSearchParams(location.search);
}

/** Navigates to an address within the UI. */
export function go(to: string, how: { replace?: boolean } = {}): void {
  if (how.replace) history.replaceState(history.state, "", to);
  else history.pushState(null, "", to);
  read();
}

/** Changes parts of the query; null removes one. */
export function goQuery(changes: Record<string, string | null>, how: { replace?: boolean } = {}): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ""), how);
}

/**
 * The address that `?next=` may lead to: one on this site, else the start. Browsers treat `//host`,
 * `/\host`, and both with a tab or newline between as another site, so the address is resolved in
 * the same way.
 */
export function safeNext(next: string | null): string {
  if (!next) return "/";
  try {
    const to = new URL(next, location.origin);
    const ours = next.startsWith("/") && to.origin === location.origin;
    // a path that begins with `//`, such as that of `/.//host`, would lead to another site again
    if (ours && !to.pathname.startsWith("//")) return to.pathname + to.search + to.hash;
  } catch {
    // not a valid address
  }
  return "/";
}

/** Makes links within the UI change the address without loading a page. Call it once. */
export function start(): void {
  window.addEventListener("popstate", read);
  document.addEventListener("click", (event) => {
    const link = (event.target as Element | null)?.closest?.("a");
    if (
      !link ||
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    if (
      link.target ||
      link.hasAttribute("download") ||
      link.origin !== location.origin ||
      !link.pathname.startsWith("/app/")
    )
      return;
    // For a link to an anchor on this page, the browser scrolls and moves the focus itself.
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
}
