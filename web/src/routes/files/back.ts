/**
 * Scroll position and active entry of a folder, kept for each entry of the session history. Back,
 * Forward and a reload lead to the same place.
 */
import { onLeave, route } from "../../lib/router.svelte";
import { searchOf } from "../../lib/search";

export interface Place {
  scroll: number;
  active: number;
}

const stored = "larder.places";
const most = 100;
/** Places and the addresses that they belong to, by the key of the history entry. */
const places = new Map<string, [address: string, place: Place]>(read());
let lastLeft = "";

// the entries are not rendered yet when the browser would restore the scroll position
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

/**
 * Keeps the place of a folder whenever the user leaves a history entry or the page. Returns a
 * function that ends this.
 */
export function keepPlace(path: string, now: () => Place): () => void {
  const keep = () => {
    places.delete(route.key);
    places.set(route.key, [listed(), now()]);
    if (places.size > most) places.delete(places.keys().next().value!);
  };
  const store = () => {
    keep();
    try {
      sessionStorage.setItem(stored, JSON.stringify([...places]));
    } catch {
      // without storage, a reload begins at the top
    }
  };
  const off = onLeave(keep);
  addEventListener("pagehide", store);
  return () => {
    off();
    removeEventListener("pagehide", store);
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
