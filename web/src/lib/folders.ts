/** Target folders of moves and copies: subfolders, folders by name, and recent targets. */
import { client, inBackground, take } from "./api";
import type { Entry } from "./entry";

/** How folders are requested: `unasked` if the user knows nothing of the request. */
interface How {
  signal?: AbortSignal;
  unasked?: boolean;
}

/** All subfolders of a folder. Throws Failure. */
export async function foldersIn(path: string, { signal, unasked }: How = {}): Promise<Entry[]> {
  const out: Entry[] = [];
  for (let page = 1; ; page++) {
    const query = { path, type: "folder", sort: "name", limit: 1000, page } as const;
    const how = { ...(signal && { signal }), ...(unasked && { fetch: inBackground }) };
    const { items, pagination } = await take(client.GET("/api/files", { params: { query }, ...how }));
    out.push(...items);
    if (page >= pagination.pages) return out;
  }
}

/**
 * The entry of a folder, undefined for a virtual folder. Throws Failure: NOT_FOUND when the path
 * does not exist.
 */
export async function folderAt(path: string, signal?: AbortSignal): Promise<Entry | undefined> {
  const query = { path, type: "folder", limit: 1 } as const;
  const { folder } = await take(client.GET("/api/files", { params: { query }, ...(signal && { signal }) }));
  return folder ?? undefined;
}

/** Folders whose name contains a text, anywhere in the tree. Throws Failure. */
export async function foldersNamed(text: string, signal: AbortSignal): Promise<Entry[]> {
  const query = { path: "/", type: "folder", search: text, limit: 50 } as const;
  return (await take(client.GET("/api/files", { params: { query }, signal }))).items;
}

const key = "larder.targets";
const most = 5;

/** The recent targets of moves and copies, the latest first. */
export function recentFolders(): string[] {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? "[]") as unknown;
    if (Array.isArray(stored)) return stored.filter((path): path is string => typeof path === "string").slice(0, most);
  } catch {
    // the stored value is invalid
  }
  return [];
}

export function rememberFolder(path: string): void {
  try {
    const others = recentFolders().filter((old) => old !== path);
    localStorage.setItem(key, JSON.stringify([path, ...others].slice(0, most)));
  } catch {
    // without storage, recent folders are not remembered
  }
}
