/** The pictures that stand for a folder: its cover, or some of its pictures. */
import type { Entry } from "./entry";
import { shownPicture, sizeFor } from "./pictures";
import type { Source } from "./source/source";

type Folder = Pick<Entry, "type" | "coverUrl" | "covers">;

/** Reports whether an entry is a folder for which pictures stand. */
export function hasCovers({ type, coverUrl, covers = [] }: Folder): boolean {
  return type === "folder" && (shownPicture(coverUrl) !== "" || covers.length > 0);
}

/**
 * The addresses of the pictures that stand for a folder on a tile of a width in CSS pixels. One
 * picture fills the tile; of several, each has a half or a quarter of it.
 */
export function coversOf(source: Source, folder: Folder, width: number, ratio = devicePixelRatio): string[] {
  if (folder.type !== "folder") return [];
  const chosen = shownPicture(folder.coverUrl);
  if (chosen !== "") return [chosen];
  const { covers = [] } = folder;
  const size = sizeFor(covers.length > 1 ? width / 2 : width, ratio);
  return source.cover ? covers.map((id) => source.cover!(id, size)) : [];
}
