/** The last searches of each account, stored in this browser. */

export interface LastSearch {
  /** The path of the folder. */
  path: string;
  /** The search, as in the address of the folder. */
  query: string;
}

const name = "larder.searches";
const most = 8;
const mostAccounts = 10;

type Kept = [account: string, searches: LastSearch[]][];

function load(): Kept {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "[]") as Kept;
  } catch {
    return [];
  }
}

function keep(account: string, searches: LastSearch[]): void {
  const others = load().filter(([one]) => one !== account);
  try {
    localStorage.setItem(name, JSON.stringify([...others, [account, searches]].slice(-mostAccounts)));
  } catch {
    // without storage, no search is remembered
  }
}

/** The folder of a search, "" for all folders; its text; and its filters, each as a text. */
function parts({ path, query }: LastSearch): [folder: string, text: string, filters: string[]] {
  const filters = new URLSearchParams(query);
  const [text, scope] = ["search", "in"].map((name) => filters.get(name) ?? "");
  for (const name of ["search", "in", "shape"]) filters.delete(name);
  return [scope === "all" ? "" : path, text!, [...filters].map(String)];
}

/** Reports whether a search refines an earlier one: it has a longer text or more filters. */
function refines(one: LastSearch, earlier: LastSearch): boolean {
  const [folder, text, filters] = parts(one);
  const [before, beginning, fewer] = parts(earlier);
  return folder === before && text.startsWith(beginning) && fewer.every((filter) => filters.includes(filter));
}

/**
 * Searches with one more, the newest first. It replaces the same search in another view, and the
 * newest one if it refines that: a search is typed and filtered in steps.
 */
export function withSearch(searches: readonly LastSearch[], one: LastSearch): LastSearch[] {
  const others = searches.filter((other, nth) => !refines(one, other) || (nth > 0 && !refines(other, one)));
  return [one, ...others].slice(0, most);
}

/** The last searches of an account, the newest first. */
export function lastSearches(account: string): LastSearch[] {
  return load().find(([one]) => one === account)?.[1] ?? [];
}

export function rememberSearch(account: string, search: LastSearch): void {
  keep(account, withSearch(lastSearches(account), search));
}

export function forgetSearches(account: string): void {
  keep(account, []);
}
