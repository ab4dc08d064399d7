/** What the queue consists of. Nothing here knows how it is shown. */
import type { Failure, Schemas } from "../api";

export type Entry = Schemas["ApiEntryReply"];

export type State =
  | "queued"
  | "starting"
  | "uploading"
  | "finishing"
  | "done"
  | "paused"
  | "error"
  /** Begun before the page was loaded anew, and the browser has no access to the file any more. */
  | "needs-file"
  /** There is something of that name. */
  | "conflict";

export type Answer = "replace" | "rename" | "skip";

/** A file that somebody hands over. `relPath` is its name, below folders of a tree: "a/b.png". */
export interface Offered {
  file: File;
  relPath: string;
  handle?: FileSystemFileHandle | undefined;
}

/** What was handed over at once. */
export interface Batch {
  id: string;
  /** The folder that everything goes into. */
  path: string;
  /** When, in ms. */
  at: number;
  /** What is done about names that are taken, once somebody has said it for all. */
  answer?: Answer;
  /** Its bytes go through the service, since the store cannot be reached from here. */
  indirect: boolean;
  items: Item[];
}

export interface Item {
  /** Also the idempotency key of its session, until that has to be given up. */
  id: string;
  key: string;
  batch: Batch;
  /** Its place among all that were added. */
  order: number;
  /** The folder it goes into, with those of its relPath. */
  folder: string;
  relPath: string;
  name: string;
  size: number; // bytes
  mtime: number; // ms
  state: State;
  /** Why it failed. Kept until it is tried again. */
  failure?: Failure;
  file?: File | undefined;
  handle?: FileSystemFileHandle | undefined;
  conflict: "fail" | "replace" | "rename";
  /** Whether a session was asked for: what the server has of it is to be asked for as well. */
  begun: boolean;
  sessionId?: string | undefined;
  /** Bytes that have gone out, those under way included. */
  sent: number;
  parts: { done: number; total: number };
  /** How many of its parts go out again since their session has expired; 1 for a file in one piece. */
  again?: number | undefined;
  /** What became of it. */
  entry?: Entry;
  /** Ends what is under way. */
  abort?: AbortController | undefined;
  done?: ((entry: Entry) => void) | undefined;
}

export const MiB = 1024 * 1024;
/** From here on a file goes in parts, so that it can go on where it stopped. */
export const partsFrom = 16 * MiB;
export const partSize = 8 * MiB;
/** The largest file that the service takes. */
export const largest = 20 * 1024 * MiB;
/** How many files and requests go at once: browsers open six connections to a host, and two are left for the rest of the page. */
export const filesAtOnce = 3;
export const requestsAtOnce = 4;

/** A random name. crypto.randomUUID does not exist on plain http. */
export function random(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A path below a folder. */
export function below(folder: string, relPath: string): string {
  return folder === "/" ? `/${relPath}` : `${folder}/${relPath}`;
}

export function active(item: Item): boolean {
  return item.state === "starting" || item.state === "uploading" || item.state === "finishing";
}

/** Whether it still is to be uploaded. */
export function unfinished(item: Item): boolean {
  return item.state !== "done";
}
