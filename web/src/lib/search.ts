/**
 * The search that the address of a folder has: `search` is a part of a name, `in=all` means all
 * folders, `shape` is the view of the results. The names of the filters are those of the interface;
 * `from` and `to` are the first and the last day, YYYY-MM-DD.
 */
import { beginOf } from "./localTime";
import { goQuery, leaveQuery, route } from "./router.svelte";

export const filterNames = ["kind", "from", "to", "minSize", "maxSize", "ownerId"];
const names = ["search", "in", "shape", ...filterNames];

const pictorial = (query: URLSearchParams) => ["image", "video"].includes(query.get("kind") ?? "");

/**
 * The filters of an address as a query of the interface, with days as times in ms; "" for none.
 * Days are those in UTC where only pictures or videos are found, as on the page of photos, and
 * otherwise those of the reader.
 */
export function filterOf(query: URLSearchParams): string {
  const filter = new URLSearchParams();
  const zone = pictorial(query) ? "Z" : "";
  const days = ["from", "to"].map((name) => query.get(name) ?? "");
  if (days[0]! > days[1]! && days[1] !== "") days.reverse();
  const times = { from: beginOf(days[0]!, 0, zone), to: beginOf(days[1]!, 1, zone) };
  for (const name of filterNames) {
    const value = name === "from" || name === "to" ? times[name] : query.get(name);
    if (value !== undefined && value !== null && value !== "") filter.set(name, String(value));
  }
  return filter.toString();
}

/** Reports whether a query has a search: a text or a filter. */
export function hasSearch(query: URLSearchParams): boolean {
  return ["search", ...filterNames].some((name) => query.get(name));
}

/** The view of results: the reader's choice, or else a grid for pictures and videos. */
export function shapeOf(query: URLSearchParams): "grid" | "list" {
  const chosen = query.get("shape");
  if (chosen === "grid" || chosen === "list") return chosen;
  return pictorial(query) ? "grid" : "list";
}

/**
 * Changes parts of the search of the address; null removes one. The first part is a step that Back
 * undoes, the following ones replace it, and without the last one the page leaves the search.
 */
export function changeSearch(changes: Record<string, string | null>): void {
  const before = hasSearch(route.query);
  const after = new URLSearchParams(route.query);
  for (const [name, value] of Object.entries(changes)) after.set(name, value ?? "");
  if (hasSearch(after)) goQuery({ ...changes, view: null }, { replace: before });
  else if (before) leaveQuery(names);
}

/** The part of an address that is its search, in an order that does not depend on the reader. */
export function searchOf(query: URLSearchParams): string {
  const kept = names.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : []));
  return new URLSearchParams(kept).toString();
}
