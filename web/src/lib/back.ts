/**
 * Scroll position of the page and active entry of a folder, kept for each entry of the session
 * history. Back, Forward and a reload lead to the same place; a new screen begins at its top.
 */
import { onArrive, onLeave, route } from "./router.svelte";
import { searchOf } from "./search";

export interface Place {
  scroll: number;
  active: number;
}

const stored = "larder.places";
const most = 100;
/** Places and the addresses that they belong to, by the key of the history entry. */
const places = new Map<string, [address: string, place: Place]>(read());
let lastLeft = "";
/** The active entry of the folder that restores its place itself. */
let folder: (() => number) | undefined;
/** Ends the wait for content. */
let stop = () => {};

// the content is not rendered yet when the browser would restore the scroll position
history.scrollRestoration = "manual";

function read(): [string, [string, Place]][] {
  try {
    return JSON.parse(sessionStorage.getItem(stored) ?? "[]") as [string, [string, Place]][];
  } catch {
    return [];
  }
}

/** The address as far as it names a listing: the folder, the search, and the kind of photos. */
function listed(): string {
  return JSON.stringify([route.path, searchOf(route.query)]);
}

function keep(): void {
  places.delete(route.key);
  places.set(route.key, [listed(), { scroll: scrollY, active: folder?.() ?? 0 }]);
  if (places.size > most) places.delete(places.keys().next().value!);
}

onLeave(keep);
addEventListener("pagehide", () => {
  keep();
  try {
    sessionStorage.setItem(stored, JSON.stringify([...places]));
  } catch {
    // without storage, a reload begins at the top
  }
});

// Each time the page becomes longer, the scroll position comes nearer to that of the place, until
// the user acts.
onArrive((moved) => {
  stop();
  const place = placeBefore();
  if (!moved && (folder || !place)) return;
  const top = place?.scroll ?? 0;
  const watcher = new ResizeObserver(() => {
    scrollTo({ top, behavior: "instant" });
    if (scrollY + 1 >= top) stop();
  });
  watcher.observe(document.body);
  stop = () => watcher.disconnect();
});
for (const act of ["wheel", "pointerdown", "keydown"]) addEventListener(act, () => stop());

/**
 * Leaves the scroll position to a folder: it restores its place when its entries are there.
 * `active` returns its active entry. Returns a function that ends this.
 */
export function keepPlace(path: string, active: () => number): () => void {
  stop();
  folder = active;
  return () => {
    if (folder === active) folder = undefined;
    lastLeft = path;
  };
}

/** The place that the user left in the current history entry, undefined for a new entry. */
export function placeBefore(): Place | undefined {
  const [address, place] = places.get(route.key) ?? [];
  return address === listed() ? place : undefined;
}

/** The folder that was open before this one, "" for none. */
export function previous(): string {
  return lastLeft;
}
