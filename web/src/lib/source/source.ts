/**
 * Where entries come from. The account's tree, the guests' tree, a share, a free-mode bucket and
 * the administration's view are one implementation each; listings, tiles and the viewer know this
 * interface only.
 */
import type { Schemas } from "../api";
import type { Entry } from "../entry";
import type { Month } from "../timeline";

export type Sort = "name" | "time" | "size" | "manual";
export type Order = "asc" | "desc";
/** The files of a timeline. */
export type Media = "image" | "video";

export interface Wanted {
  path: string;
  /** Without it, the order of the mount applies. */
  sort?: Sort | undefined;
  order?: Order | undefined;
  /** Part of a name; "" for the entries directly in the folder. */
  search: string;
  /** The filters of a search, as a query of the interface; "" or undefined for none. */
  filter?: string | undefined;
  /** Of a timeline; without it, all. */
  media?: Media | undefined;
}

/** Entries with pages of their own. */
export type Kind = "folder" | "file";

/** Part of a listing. */
export interface Page {
  items: readonly Entry[];
  /** Entries of this kind; while `open`, those known so far and one more. */
  total: number;
  /** Entries follow whose number is not known. */
  open?: boolean;
  /** The folder itself; null for one that exists only because a mount is below it. */
  folder: Entry | null;
  mount: Schemas["ApiMountReply"] | null;
  /** The months of a timeline, the newest first. */
  months?: readonly Month[];
  /** The entries have changed since the reader began, so a new reader is needed. */
  changed?: boolean;
}

/** Reads one state of a listing. A refresh begins with a new reader. */
export interface Reader {
  /** Folders have pages of their own; otherwise they are among the files. */
  readonly split: boolean;
  /** A page, from 0, of `limit` entries. Throws Failure. */
  page(kind: Kind, nth: number, limit: number, signal: AbortSignal): Promise<Page>;
}

/** The operations that a source offers; the permissions of an entry are in the entry. */
export interface Abilities {
  readonly search: boolean;
  /** A search can have a filter. */
  readonly filter: boolean;
  /** The user can choose the order. */
  readonly sort: boolean;
  /** Each file has an address of its own, by its path. */
  readonly paths: boolean;
  /** Entries can be created, changed, moved and shared, as in an account. */
  readonly edit: boolean;
}

/** The most files of an archive. */
export const mostArchived = 100;

export type PictureSize = 160 | 320 | 640 | 1280 | 2048;

export interface Source {
  readonly can: Abilities;
  /** The most entries of a page. */
  readonly most: number;
  read(wanted: Wanted): Reader;
  /**
   * The address of a thumbnail whose longest edge has at most `size` pixels, "" if there is none.
   * The server answers 404 where it cannot make one.
   */
  thumbnail(entry: Entry, size: PictureSize): string;
  /**
   * The address of a thumbnail of a picture that stands for a folder, by the id of the picture. A
   * source without it has no such pictures.
   */
  cover?(id: string, size: PictureSize): string;
  /** The address of a file's bytes, to be shown in the page. It can be used many times. */
  content(entry: Entry): string;
  /** The address at which the browser saves a file; it may work once. Throws Failure. */
  download(entry: Entry): Promise<string>;
  /**
   * The address at which the browser saves an archive of up to `mostArchived` files; it may work
   * once. A source without it saves them one by one. Throws Failure.
   */
  archive?(entries: readonly Entry[]): Promise<string>;
  /**
   * The address of the state of a folder's listing or of a timeline, which changes with it; "" if
   * there is none. A request for it is cheap.
   */
  state(path: string, media?: Media): string;
  /**
   * Calls the listener with the path of each folder that has changed in the background. Returns a
   * function that removes the listener.
   */
  watch(listener: (folder: string) => void): () => void;
}
