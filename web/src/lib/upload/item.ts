/** The items of the queue. This module knows nothing of the screen. */
import type { Failure, Schemas } from "../api";
import type { ReceivedKey } from "../received";

export type Entry = Schemas["ApiEntryReply"];
/** The entry whose name an upload asks for, with the SHA-256 of its content if that is known. */
export type Existing = Schemas["ApiExistingReply"];

export type State =
  | "queued"
  | "starting"
  | "uploading"
  | "finishing"
  | "done"
  | "paused"
  | "error"
  /** Started before the page was reloaded; the browser has no access to the file any more. */
  | "needs-file"
  /** The name is taken. */
  | "conflict";

export type Answer = "replace" | "rename" | "skip";

/** A file from the user. `relPath` is its path below the target folder: "a/b.png". */
export interface Offered {
  file: File;
  relPath: string;
  handle?: FileSystemFileHandle | undefined;
  /** Resolves to the handle of a file that is queued before its handle is there. */
  lateHandle?: Promise<FileSystemFileHandle | null> | undefined;
  /** The received file that this is. It is removed with the item. */
  received?: ReceivedKey | undefined;
}

/** Files that the user added together. */
export interface Batch {
  id: string;
  /** The target folder of the batch. */
  path: string;
  /** When it was added, in ms. */
  at: number;
  /** The answer to name conflicts that the user gave for the whole batch. */
  answer?: Answer;
  /** The bytes go through the service, because the store cannot be reached from this browser. */
  indirect: boolean;
  items: Item[];
}

export interface Item {
  /** Initially also the idempotency key of its session. */
  id: string;
  key: string;
  batch: Batch;
  /** Its position among all added items. */
  order: number;
  /** The target folder, including the folders of relPath. */
  folder: string;
  relPath: string;
  name: string;
  size: number; // bytes
  mtime: number; // ms
  state: State;
  /** The reason of the failure. Kept until the next attempt. */
  failure?: Failure;
  /** The entry that has its name, as far as that is known. */
  existing?: Existing | undefined;
  /** It was not stored, because the folder has a file of this name with the same content. */
  same?: boolean;
  file?: File | undefined;
  handle?: FileSystemFileHandle | undefined;
  received?: ReceivedKey | undefined;
  conflict: "fail" | "replace" | "rename";
  /** A session was requested, so the server must be asked for its state. */
  begun: boolean;
  sessionId?: string | undefined;
  /** Bytes sent, including parts under way. */
  sent: number;
  parts: { done: number; total: number };
  /** How many parts are sent again because their session has expired; 1 for a file in one piece. */
  again?: number | undefined;
  /** The created entry. */
  entry?: Entry;
  /** Aborts the transfer under way. */
  abort?: AbortController | undefined;
  done?: ((entry: Entry) => void) | undefined;
}

export const MiB = 1024 * 1024;
/** Files of this size and above are sent in parts, so that they can be resumed. */
export const partsFrom = 16 * MiB;
export const partSize = 8 * MiB;
/** The largest file that the service accepts. */
export const largest = 20 * 1024 * MiB;
/**
 * Limits of parallel files and requests: browsers open six connections to a host, and two remain
 * for the rest of the page.
 */
export const filesAtOnce = 3;
export const requestsAtOnce = 4;

/** Joins a folder and a relative path. */
export function below(folder: string, relPath: string): string {
  return folder === "/" ? `/${relPath}` : `${folder}/${relPath}`;
}

export function active(item: Item): boolean {
  return item.state === "starting" || item.state === "uploading" || item.state === "finishing";
}

/** Reports whether the item is not done yet. */
export function unfinished(item: Item): boolean {
  return item.state !== "done";
}
