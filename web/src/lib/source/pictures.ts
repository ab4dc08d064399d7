/** Pictures by their paths, from a source whose files have no addresses of their own. */
import { nameOf, parentOf, type Entry } from "../entry";
import { isDrawing, kindOf, moves } from "../preview";
import type { Source } from "./source";

/** The most folders that are read for the pictures of a text. */
const mostFolders = 8;
/** The most pages of each folder that are read. */
const mostPages = 10;

/**
 * The addresses of the pictures at some paths, by path. Files that are missing, that are no
 * pictures or that cannot be listed are left out. The entries come from listings of the source:
 * paths cannot lead out of it.
 */
export async function picturesAt(source: Source, paths: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const folders = [...new Set(paths.map(parentOf))].slice(0, mostFolders);
  await Promise.all(
    folders.map(async (folder) => {
      const wanted = new Map(paths.filter((path) => parentOf(path) === folder).map((path) => [nameOf(path), path]));
      for (const entry of await named(source, folder, wanted)) {
        const address = addressOf(source, entry);
        if (address !== "") found.set(wanted.get(entry.name)!, address);
      }
    }),
  );
  return found;
}

/** The entries of a folder with some names, as far as they are there. */
async function named(source: Source, path: string, names: ReadonlyMap<string, unknown>): Promise<Entry[]> {
  const found: Entry[] = [];
  const { signal } = new AbortController();
  const reader = source.read({ path, search: "" });
  try {
    for (let nth = 0; nth < mostPages && found.length < names.size; nth++) {
      const { items, total } = await reader.page("file", nth, source.most, signal);
      found.push(...items.filter(({ name }) => names.has(name)));
      if ((nth + 1) * source.most >= total) break;
    }
  } catch {
    // the text is shown without these pictures
  }
  return found;
}

function addressOf(source: Source, entry: Entry): string {
  if (kindOf(entry) !== "image") return "";
  return isDrawing(entry) || moves(entry) ? source.content(entry) : source.thumbnail(entry, 1280);
}
