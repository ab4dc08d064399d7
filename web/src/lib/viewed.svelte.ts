/**
 * The file that the viewer shows. It is the one whose id the address names, so that it stays when
 * other files arrive; its place among the files of the listing changes with the listing.
 */
import type { Entry } from "./entry";

/** The parts of a listing that the viewer needs. */
export interface Listed {
  readonly folders: number;
  readonly files: number;
  at(index: number): Entry | undefined;
  indexOf(id: string): number;
  preload(from: number, to: number): void;
}

/** A file that has left its index is searched among this many files before and after that index. */
const near = 50;
/** The viewer shows this many files before and after its own as small pictures. */
export const around = 24;

interface Page {
  /** Requests a file; undefined if one that was shown does not exist any more. Throws Failure. */
  request: (id: string) => Promise<Entry | undefined>;
  /** Sets the id of the address. */
  show: (id: string) => void;
  /** Called with the index of the file in the listing when the file was found there. */
  found: (index: number) => void;
  /** Called when the file of the address cannot be shown. */
  fail: (cause: unknown, id: string) => void;
}

export class ViewedFile {
  /** The file, as far as it is known: loaded, or the last state of one that is gone. */
  entry = $state.raw<Entry>();
  /** The index among the files; that of a missing file is its last one; -1 if unknown. */
  index = $state(-1);
  /** The file was there, and does not exist any more. */
  gone = $state(false);
  /** The indices of the files before and after, -1 for none. */
  previous = $state(-1);
  next = $state(-1);

  readonly #page: Page;
  #id = "";
  /** The user has turned to a file that is not loaded. */
  #turning = $state(false);
  #listed = $state(false);
  #asked = false;
  /** The number of files when the file was last found. */
  #files = 0;

  constructor(page: Page) {
    this.#page = page;
  }

  /** The index, -1 when the file has no place among the files. */
  get place(): number {
    return this.#listed || this.#turning ? this.index : -1;
  }

  /** Follows the address and the listing. Called after each change of them. */
  follow(wanted: string | null, listing: Listed): void {
    if (wanted !== this.#id) {
      this.#forget();
      this.#id = wanted ?? "";
    }
    if (wanted === null) return;
    if (this.#turning) this.#arrive(listing);
    else this.#find(listing);
    this.#neighbours(listing);
  }

  /**
   * The index of the file to show after the shown one was removed, -1 for none: the one after it,
   * or else the one before. The listing may still contain the removed file.
   */
  afterRemoval(listing: Listed): number {
    if (this.index < 0) return -1;
    const at = listing.indexOf(this.#id);
    const index = at < 0 ? this.index : at - listing.folders;
    const next = at < 0 ? index : index + 1;
    return next < listing.files ? next : Math.min(index, listing.files) - 1;
  }

  /** Shows the file at an index, as soon as it is loaded. */
  turn(index: number, listing: Listed): void {
    this.#forget();
    this.index = index;
    this.#turning = true;
    this.#arrive(listing);
    this.#neighbours(listing);
  }

  #forget(): void {
    this.entry = undefined;
    this.index = -1;
    this.gone = false;
    this.#turning = false;
    this.#listed = false;
    this.#asked = false;
  }

  #arrive(listing: Listed): void {
    const entry = listing.at(listing.folders + this.index);
    if (!entry) return this.#preload(this.index, around, listing);
    this.#turning = false;
    this.#id = entry.id;
    this.#take(entry, this.index, listing);
    this.#page.show(entry.id);
  }

  #preload(index: number, beside: number, listing: Listed): void {
    const { folders, files } = listing;
    const [from, to] = [Math.max(0, index - beside), Math.min(files, index + beside + 1)];
    if (from < to) listing.preload(folders + from, folders + to);
  }

  #take(entry: Entry, index: number, listing: Listed): void {
    if (!this.#listed) this.#preload(index, around, listing);
    this.entry = entry;
    this.index = index;
    this.gone = false;
    this.#listed = true;
    this.#asked = false;
    this.#files = listing.files;
    this.#page.found(listing.folders + index);
  }

  #find(listing: Listed): void {
    const at = listing.indexOf(this.#id);
    const entry = at >= listing.folders ? listing.at(at) : undefined;
    if (entry) return this.#take(entry, at - listing.folders, listing);
    if (this.#listed) {
      // others have been added or removed above it
      this.#preload(this.index + listing.files - this.#files, near, listing);
    }
    this.#listed = false;
    if (this.#asked) return;
    this.#asked = true;
    void this.#request(this.#id, listing);
  }

  /** Finds out whether a file exists that is not among the loaded ones. */
  async #request(id: string, listing: Listed): Promise<void> {
    let entry: Entry | undefined;
    let problem: unknown;
    try {
      entry = await this.#page.request(id);
    } catch (cause) {
      problem = cause;
    }
    if (id !== this.#id || this.#listed || this.#turning) return;
    if (entry) this.entry = entry;
    else if (!this.entry) this.#page.fail(problem, id);
    else if (problem) this.#asked = false;
    else this.gone = true;
    this.#neighbours(listing);
  }

  #neighbours(listing: Listed): void {
    const placed = this.#listed || this.#turning || this.gone;
    // the files after one that is gone have moved up
    const next = Math.min(this.index + (this.gone ? 0 : 1), listing.files);
    const previous = Math.min(this.index, listing.files) - 1;
    this.next = placed && this.index >= 0 && next < listing.files ? next : -1;
    this.previous = placed && previous >= 0 ? previous : -1;
  }
}
