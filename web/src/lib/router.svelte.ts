/** The router: the address as reactive state, and links that lead within the UI. */

/** The state of an entry of the session history. */
interface EntryState {
  /** Identifies the entry, also after a reload. */
  key: string;
  /** The entry before it has the same path: the user came here by a change of the query. */
  above: boolean;
}

/** The current address, decoded: `path` without a trailing slash, `query` as the part after `?`. */
class Route {
  path = $state(decodePath(location.pathname));
  query = $state.raw(new URLSearchParams(location.search));
  /** The key of the current entry of the session history; "" before the start. */
  key = "";
}

export const route = new Route();

/** The state of the current history entry, which gets one if it has none. */
function entryState(): EntryState {
  const state = history.state as EntryState | null;
  if (state?.key) return state;
  const fresh = newState(false);
  history.replaceState(fresh, "");
  return fresh;
}

function newState(above: boolean): EntryState {
  return { key: `${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`, above };
}

const leaving = new Set<() => void>();

/**
 * Calls the listener before the page leaves a history entry, while `route` and the screen are still
 * those of that entry. Returns a function that removes the listener.
 */
export function onLeave(listener: () => void): () => void {
  leaving.add(listener);
  return () => leaving.delete(listener);
}

let arrived: (moved: boolean) => void = () => {};

/**
 * Calls the listener after the page has come to a history entry or to another path, before the
 * screen follows. `moved` tells whether the path is another one.
 */
export function onArrive(listener: (moved: boolean) => void): void {
  arrived = listener;
}

let ask: ((leave: () => void) => void) | undefined;

/**
 * Makes the page stay when the user goes to another path: it calls `asks` instead, with a function
 * that goes there all the same. Returns a function that ends this.
 */
export function askBeforeLeaving(asks: (leave: () => void) => void): () => void {
  ask = asks;
  return () => {
    if (ask === asks) ask = undefined;
  };
}

/** Reports whether the page stays at its path and asks first; `leave` goes to the other path. */
function stays(to: string, leave: () => void): boolean {
  if (!ask || decodePath(new URL(to, location.origin).pathname) === route.path) return false;
  ask(() => {
    ask = undefined;
    leave();
  });
  return true;
}

/** The address and the state of the history entry that the screen shows. */
let shown = { address: "", state: undefined as EntryState | undefined };

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
  const { key, path } = route;
  const state = entryState();
  shown = { address: location.pathname + location.search, state };
  route.key = state.key;
  route.path = decodePath(location.pathname);
  route.query = new URLSearchParams(location.search);
  if (route.key !== key || route.path !== path) arrived(route.path !== path);
}

/** Navigates to an address within the UI. */
export function go(to: string, how: { replace?: boolean } = {}): void {
  if (stays(to, () => go(to, how))) return;
  if (how.replace) history.replaceState(history.state, "", to);
  else push(to, false);
  read();
}

function push(to: string, above: boolean): void {
  for (const listener of leaving) listener();
  history.pushState(newState(above), "", to);
}

/** Changes parts of the query; null removes one. */
export function goQuery(changes: Record<string, string | null>, how: { replace?: boolean } = {}): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  const to = location.pathname + (text ? `?${text}` : "");
  if (how.replace) return go(to, how);
  push(to, true);
  read();
}

/** Removes parts of the query: by going back if the user came here by adding them. */
export function leaveQuery(names: string[]): void {
  if (entryState().above) history.back();
  else goQuery(Object.fromEntries(names.map((name) => [name, null])), { replace: true });
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

/** Goes to the address that `?next=` names, after a sign-in. */
export function goNext(): void {
  const next = safeNext(route.query.get("next"));
  if (next === "/" || next.startsWith("/app/")) go(next, { replace: true });
  else location.replace(next); // a file: the server may now answer differently
}

/**
 * Reports whether an address is that of a public folder, which ends in a slash. That of a share or
 * of the interface does not lead to a folder.
 */
function isFolder(pathname: string): boolean {
  return /^\/.+\/$/.test(pathname) && !/^\/(api|share|webdav)\//i.test(pathname);
}

/** Makes links within the UI change the address without loading a page. Call it once. */
export function start(): void {
  read();
  window.addEventListener("popstate", () => {
    const { address, state } = shown;
    if (stays(location.pathname, () => history.back())) {
      history.pushState(state, "", address); // the browser has left the entry already
      return;
    }
    for (const listener of leaving) listener();
    read();
  });
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
      // the page of a share is another page than the application
      !(location.pathname.startsWith("/share/")
        ? link.pathname === location.pathname
        : link.pathname.startsWith("/app/") || isFolder(link.pathname))
    )
      return;
    // For a link to an anchor on this page, the browser scrolls and moves the focus itself.
    if (link.hash && link.pathname === location.pathname && link.search === location.search) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
}
