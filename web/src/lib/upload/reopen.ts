/** Opens the files of items that a page before this one has queued. */
import { receivedFile } from "../received";
import type { Item, Offered } from "./item";

type Handle = FileSystemFileHandle &
  Record<"queryPermission" | "requestPermission", (how: { mode: "read" }) => Promise<string>>;

/**
 * The file of an item: a received one, or that behind a stored handle if it is unchanged.
 * `ask` allows the browser to ask the user for access, which it does only after a click. Undefined
 * if the user must choose the file again.
 */
export async function reopen(item: Item, ask: boolean): Promise<Offered | undefined> {
  const handle = item.handle as Handle | undefined;
  try {
    if (item.received) return await receivedFile(item.received);
    if (!handle) return undefined;
    let state = await handle.queryPermission({ mode: "read" });
    if (state === "prompt" && ask) state = await handle.requestPermission({ mode: "read" });
    if (state !== "granted") return undefined;
    const file = await handle.getFile();
    return file.size === item.size && file.lastModified === item.mtime ? { file, relPath: item.relPath } : undefined;
  } catch {
    return undefined; // the file is gone, or access was denied
  }
}
