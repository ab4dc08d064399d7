/** Collects the files from a drop, a paste or a file chooser, including those in folder trees. */
import type { Offered } from "./item";

/** The files, and the empty folders, which no file path implies. */
export interface Walked {
  files: Offered[];
  folders: string[];
}

/**
 * The content of a drop: the dropped files, and later the content of dropped folders. Call it in
 * the handler of the event: it reads the items at once, because the browser clears them afterwards.
 * It asks for file handles where the browser provides them, because they survive the page. The
 * handles of thousands of files take a while, so `files` do not wait for theirs.
 */
export function dropped(data: DataTransfer): { files: Offered[]; below: Promise<Walked> } {
  const files: Offered[] = [];
  const trees: Promise<Walked>[] = [];
  for (const item of [...data.items].filter(({ kind }) => kind === "file")) {
    const entry = item.webkitGetAsEntry();
    const file = entry?.isDirectory ? null : item.getAsFile();
    const handle = hasHandle(item) ? item.getAsFileSystemHandle().catch(() => null) : undefined;
    if (file) files.push({ file, relPath: file.name, lateHandle: handle as Promise<FileSystemFileHandle | null> });
    else trees.push(tree(entry, handle));
  }
  const below = Promise.all(trees).then((walked) => ({
    files: walked.flatMap(({ files }) => files),
    folders: walked.flatMap(({ folders }) => folders),
  }));
  return { files, below };
}

type WithHandle = DataTransferItem & { getAsFileSystemHandle(): Promise<FileSystemHandle | null> };

/** On plain http Chromium has the method too, but a call crashes the page. */
function hasHandle(item: DataTransferItem): item is WithHandle {
  return isSecureContext && "getAsFileSystemHandle" in item;
}

/** A dropped folder with everything in it. */
async function tree(
  entry: FileSystemEntry | null,
  asked: Promise<FileSystemHandle | null> | undefined,
): Promise<Walked> {
  const walked: Walked = { files: [], folders: [] };
  const handle = await asked;
  if (handle) await walkHandle(handle, "", walked);
  else if (entry) await walkEntry(entry, "", walked);
  return walked;
}

/** The files from a file chooser; for a folder, with their paths in it. */
export function chosen(files: Iterable<File>): Offered[] {
  return [...files].map((file) => ({ file, relPath: file.webkitRelativePath || file.name }));
}

/** The name of a photo from the camera, by its local time: "2026-11-27 14.05.09.jpg". */
export function photoName({ name, lastModified }: Pick<File, "name" | "lastModified">): string {
  const time = new Date(lastModified);
  const two = (n: number) => String(n).padStart(2, "0");
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(".");
  return `${day} ${clock}${/\.\w+$/.exec(name)?.[0] ?? ".jpg"}`;
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
