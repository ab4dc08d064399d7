/** The files in what was dropped, pasted or chosen, with those of whole folder trees. */
import type { Offered } from "./item";

/** A folder of a tree that holds nothing, which would otherwise get lost. */
export interface Walked {
  files: Offered[];
  folders: string[];
}

/**
 * What a drop holds. To be called while its event is being handled, and it begins at once to read: afterwards the browser has forgotten what was
 * dropped. Handles are taken where the browser gives them, since they outlive the page.
 */
export async function dropped(data: DataTransfer): Promise<Walked> {
  const roots = await Promise.all([...data.items].filter((item) => item.kind === "file").map(root));
  return { files: roots.flatMap(({ files }) => files), folders: roots.flatMap(({ folders }) => folders) };
}

/** One of the things that were dropped, with all in it. */
async function root(item: DataTransferItem): Promise<Walked> {
  const walked: Walked = { files: [], folders: [] };
  const entry = item.webkitGetAsEntry();
  const file = item.getAsFile();
  const { getAsFileSystemHandle } = item as { getAsFileSystemHandle?: () => Promise<FileSystemHandle | null> };
  // On plain http Chromium has the method as well, and the page crashes when it is called.
  const handle = isSecureContext && getAsFileSystemHandle && (await getAsFileSystemHandle.call(item).catch(() => null));
  if (handle) await walkHandle(handle, "", walked);
  else if (file && !entry?.isDirectory) walked.files.push({ file, relPath: file.name });
  else if (entry) await walkEntry(entry, "", walked);
  return walked;
}

/** What a person chose in a file chooser; a folder tells where in it each file lies. */
export function chosen(files: Iterable<File>): Offered[] {
  return [...files].map((file) => ({ file, relPath: file.webkitRelativePath || file.name }));
}

/** All below a handle. What cannot be read is left out, as the browser's own chooser does. */
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
      // gone, or not ours to read
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
    // At most 100 come at once, and none only when all have come.
    const some = await new Promise<FileSystemEntry[]>((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (some.length === 0) break;
    empty = false;
    for (const child of some) await walkEntry(child, `${relPath}/`, into);
  }
  if (empty) into.folders.push(relPath);
}
