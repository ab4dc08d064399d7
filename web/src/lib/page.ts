/** The page of an entry in the file manager. */
import { pathOf, type Entry } from "./entry";
import { address } from "./router.svelte";

/** The address of the folder itself, or of the folder of a file with the file open. */
export function pageOf(entry: Pick<Entry, "id" | "type" | "path" | "name">): string {
  return entry.type === "folder"
    ? address("/app/files", pathOf(entry))
    : `${address("/app/files", entry.path)}?view=${encodeURIComponent(entry.id)}`;
}
