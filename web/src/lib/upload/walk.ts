/** Collects the files from a drop, a paste or a file chooser, including those in folder trees. */
import type { Offered } from "./item";

/** The files, and the empty folders, which no file path implies. */
export interface Walked {
  files: Offered[];
  folders: string[];
}

/**
 * The content of a drop. Call it in the handler of the event: it reads the items at once, because
 * the browser clears them afterwards. It stores file handles where the browser provides them,
 * because they survive the page.
 */
export async function dropped(data: DataTransfer): Promise<Walked> {
  const roots = await Promise.all([...data.items].filter((item) => item.kind === "file").map(root));
  return { files: roots.flatMap(({ files }) => files), folders: roots.flatMap(({ folders }) => folders) };
}

/** One dropped item with everything in it. */
async function root(item: DataTransferItem): Promise<Walked> {
  const walked: Walked = { files: [], folders: [] };
  const entry = item.webkitGetAsEntry();
  const file = item.getAsFile();
  const { getAsFileSystemHandle } = item as { getAsFileSystemHandle?: () => Promise<FileSystemHandle | null> };
  // On plain http Chromium has the method too, but a call crashes the page.
  const handle = isSecureContext && getAsFileSystemHandle && (await getAsFileSystemHandle.call(item).catch(() => null));
  if (handle) await walkHandle(handle, "", walked);
  else if (file && !entry?.isDirectory) walked.files.push({ file, relPath: file.name });
  else if (entry) await walkEntry(entry, "", walked);
  return walked;
}

/** The files from a file chooser; for a folder, with their paths in it. */
export function chosen(files: Iterable<File>): Offered[] {
  return [...files].map((file) => ({ file, relPath: file.webkitRelativePath || file.name }));
}

/** Adds all files below a handle. Unreadable files are skipped, as in the browser's own chooser. */
export async function walkHandle(handle: FileSystemHandle, above: string, into: Walked): Promise<void> {
  const relPath = above + handle.name;
  if (handle.kind === "file") {
    try {
      into.files.push({
        file: await (handle as FileSystemFileHandle).getFile(),
        relPath,
        handle: handle as FileSystemFileHandle,
      });
    } catch {
      // the file is gone or unreadable
    }
    return;
  }
  let empty = true;
  const children = (handle as unknown as { values(): AsyncIterable<FileSystemHandle> }).values();
  for await (const child of children) {
    empty = false;
    await walkHandle(child, `${relPath}/`, into);
  }
  if (empty) into.folders.push(relPath);
}

async function walkEntry(entry: FileSystemEntry, above: string, into: Walked): Promise<void> {
  const relPath = above + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File | undefined>((resolve) =>
      (entry as FileSystemFileEntry).file(resolve, () => resolve(undefined)),
    );
    if (file) into.files.push({ file, relPath });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  let empty = true;
  for (;;) {
    // readEntries returns at most 100 entries at once, and none after the last.
    const some = await new Promise<FileSystemEntry[]>((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (some.length === 0) break;
    empty = false;
    for (const child of some) await walkEntry(child, `${relPath}/`, into);
  }
  if (empty) into.folders.push(relPath);
}
