/** Connects folders to the uploads, which are loaded when they are first needed. */
import { toastFailure } from "../../lib/refused";
import type { Entry, Offered, uploads } from "../../lib/uploads.svelte";

type Uploads = typeof uploads;

let loaded: Uploads | undefined;

/** The tray, which is loaded when the page is idle, hands the queue over. */
export function setUploads(uploads: Uploads): void {
  loaded = uploads;
}

const load = async (): Promise<Uploads> => loaded ?? (await import("../../lib/uploads.svelte")).uploads;

/**
 * Lets the user choose files, or a folder, or take a photo, and uploads that. `done` is called for
 * each file.
 */
export function pickUploads(
  path: string,
  how: { folder?: boolean; camera?: boolean; done?: (entry: Entry) => void },
): void {
  // always by an import, whose task is not that of the key that was pressed
  void import("../../lib/uploads.svelte").then(
    ({ uploads }) => uploads.pick(path, how),
    () => undefined, // the listener of vite:preloadError tells the user
  );
}

/** Uploads files and empty folders to a folder, as part of a batch if one is named. */
export async function upload(
  files: Offered[],
  path: string,
  how: { batch?: string; folders?: string[]; done?: (entry: Entry) => void } = {},
): Promise<void> {
  try {
    await (await load()).add(files, path, how);
  } catch (cause) {
    // an empty folder could not be created
    toastFailure(cause, "write", path);
  }
}
