/**
 * The router: the address as reactive state, links that lead within the UI, and where the reader had scrolled to in what Back leads to.
 */

/** The address, decoded: `path` without a slash at its end, `query` as the part behind `?`. */
class Place {
  path = $state(decodePath(location.pathname));
  query = $state.raw(new URLSearchParams(location.search));
}

export const place = new Place();

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

/** The path of an address for a virtual path below a prefix, each segment encoded. */
export function address(prefix: string, path: string): string {
  const segments = path.split("/").filter(Boolean).map(encodeURIComponent);
  return [prefix, ...segments].join("/");
}

function read(): void {
  place.path = decodePath(location.pathname);
  place.query = new URLSearchParams(location.search);
}

/** Goes to an address within the UI. */
export function go(to: string, how: { replace?: boolean } = {}): void {
  if (how.replace) history.replaceState(history.state, "", to);
  else history.pushState(null, "", to);
  read();
}

/** Changes parts of the query; null takes one away. */
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
 * Where `?next=` may lead: an address on this very site, else the start. Browsers take `//host`, `/\host` and a tab or newline between for another
 * site, so the address is resolved as they do it.
 */
export function safeNext(next: string | null): string {
  if (!next) return "/";
  try {
    const to = new URL(next, location.origin);
    const ours = next.startsWith("/") && to.origin === location.origin;
    if (ours && !to.pathname.startsWith("//")) return to.pathname + to.search + to.hash; // what is `/.//host` by now would be another site again
  } catch {
    // no address at all
  }
  return "/";
}

/** Has links within the UI change the address only. Call it once. */
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
    // The browser goes to a place of this very page, and takes the focus along.
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
}
