/** Folders to put things into: what lies in one, which are called so, and where things went lately. */
import { client, take } from "./api";
import type { Entry } from "./entry";

/** All folders of a folder. Throws Failure. */
export async function foldersIn(path: string, signal?: AbortSignal): Promise<Entry[]> {
  const out: Entry[] = [];
  for (let page = 1; ; page++) {
    const query = { path, type: "folder", sort: "name", limit: 1000, page } as const;
    const { items, pagination } = await take(
      client.GET("/api/files", { params: { query }, ...(signal && { signal }) }),
    );
    out.push(...items);
    if (page >= pagination.pages) return out;
  }
}

/** The entry of a folder, undefined where the path names a virtual one. Throws Failure: NOT_FOUND where there is none. */
export async function folderAt(path: string, signal?: AbortSignal): Promise<Entry | undefined> {
  const query = { path, type: "folder", limit: 1 } as const;
  const { folder } = await take(client.GET("/api/files", { params: { query }, ...(signal && { signal }) }));
  return folder ?? undefined;
}

/** Folders with a text in their name, wherever they are. Throws Failure. */
export async function foldersNamed(text: string, signal: AbortSignal): Promise<Entry[]> {
  const query = { path: "/", type: "folder", search: text, limit: 50 } as const;
  return (await take(client.GET("/api/files", { params: { query }, signal }))).items;
}

const key = "larder.targets";
const most = 5;

/** The folders that things were put into lately, the last first. */
export function recentFolders(): string[] {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? "[]") as unknown;
    if (Array.isArray(stored)) return stored.filter((path): path is string => typeof path === "string").slice(0, most);
  } catch {
    // none then
  }
  return [];
}

export function rememberFolder(path: string): void {
  try {
    const others = recentFolders().filter((old) => old !== path);
    localStorage.setItem(key, JSON.stringify([path, ...others].slice(0, most)));
  } catch {
    // a browser that keeps nothing
  }
}
