/**
 * The entries of a folder, or the results of a search, as one list: folders, then files, where the
 * source tells them apart. Only the visible pages are fetched. `at` is reactive. The length grows
 * while the source does not know it.
 */
import { Failure } from "./api";
import { hasCovers } from "./covers";
import type { Entry } from "./entry";
import { each, type Ranges } from "./ranges";
import type { Kind, Page, Reader, Source, Wanted } from "./source/source";
import type { Month } from "./timeline";

const inFlight = 3;
/** Number of cached pages; pages farthest from the visible range are dropped first. */
const keptPages = 100;
/** A refresh fetches so many pages at most in addition to the visible ones. */
const heldPages = 12;
/** A refresh finds held entries that have moved by up to so many places. */
const moved = 50;
const noMonths: readonly Month[] = [];

export class Listing {
  readonly source: Source;
  readonly wanted: Wanted;
  /** Resolves when the first pages have loaded or failed. */
  readonly ready: Promise<void>;
  /** The reason why the listing cannot be shown, undefined when it can. */
  failed = $state.raw<Failure>();
  /** The reason why the last page failed to load. */
  problem = $state.raw<Failure>();
  loaded = $state(false);
  folders = $state(0);
  files = $state(0);
  /** Pictures stand for some of the folders on the first page. */
  pictured = $state(false);
  folder = $state.raw<Entry | null>(null);
  mount = $state.raw<Page["mount"]>(null);
  /** The months of a timeline, empty in other listings. */
  months = $state.raw<readonly Month[]>(noMonths);
  readonly total = $derived(this.folders + this.files);
  /** The entries that a refresh keeps loaded although they are out of sight. */
  held: () => Ranges = () => [];
  /** Applies the answers of a refresh, for callers that compare the listing before and after. */
  around: (apply: () => void) => void = (apply) => apply();
  #version = $state(0);

  readonly #size: number; // entries on a page
  #reader: Reader;
  #pages: Record<Kind, Map<number, readonly Entry[]>> = { folder: new Map(), file: new Map() };
  #asked = new Set<string>();
  #queue: [Kind, number][] = [];
  #window: [number, number] = [0, 0];
  #generation = 0;
  #refreshing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #stop = new AbortController();

  constructor(source: Source, wanted: Wanted) {
    this.source = source;
    this.wanted = wanted;
    this.#size = Math.min(200, source.most);
    this.#reader = source.read(wanted);
    this.ready = this.#begin();
  }

  /** Aborts all requests; nothing changes afterwards. */
  close(): void {
    this.#stop.abort();
  }

  /** The entry at an index, undefined while it is loading. */
  at(index: number): Entry | undefined {
    void this.#version;
    const [kind, nth] = this.#place(index);
    return this.#pages[kind].get(Math.floor(nth / this.#size))?.[nth % this.#size];
  }

  /** The index of an entry, -1 when it is not among the loaded ones. */
  indexOf(id: string): number {
    for (const kind of ["folder", "file"] as const) {
      for (const [page, entries] of this.#pages[kind]) {
        const nth = entries.findIndex((entry) => entry.id === id);
        if (nth >= 0) return (kind === "file" ? this.folders : 0) + page * this.#size + nth;
      }
    }
    return -1;
  }

  /**
   * Sets the visible range and fetches its pages. Pages that were queued earlier and are out of
   * sight are dropped from the queue.
   */
  look(from: number, to: number): void {
    this.#window = [from, to];
    this.#queue = this.#missing(from, to);
    this.#pump();
  }

  /** Fetches the pages of a range that is not visible. */
  preload(from: number, to: number): void {
    this.#queue.push(...this.#missing(from, to));
    this.#pump();
  }

  #missing(from: number, to: number): [Kind, number][] {
    return this.#pagesOf(from, to).filter(
      ([kind, page]) => !this.#pages[kind].has(page) && !this.#asked.has(`${kind}${page}`),
    );
  }

  /** Replaces an entry by its new state. */
  replace(entry: Entry): void {
    for (const pages of Object.values(this.#pages)) {
      for (const [page, entries] of pages) {
        const nth = entries.findIndex((one) => one.id === entry.id);
        if (nth >= 0) pages.set(page, entries.with(nth, entry));
      }
    }
    this.#version++;
  }

  /**
   * Fetches the visible and the held pages again and drops the others. The old entries stay visible
   * until the new ones arrive. Calls during a refresh, for example by uploads while the server asks
   * for a pause, lead to one more refresh after it. Throws Failure.
   */
  refresh(): Promise<void> {
    if (!this.#refreshing) return (this.#refreshing = this.#renew().finally(() => (this.#refreshing = undefined)));
    return (this.#next ??= this.#refreshing
      .catch(() => undefined) // the callers that wait for it get the error
      .then(() => {
        this.#next = undefined;
        return this.refresh();
      }));
  }

  /** `again` is set when the entries changed while they were read. */
  async #renew(again = false): Promise<void> {
    this.#generation++; // responses under way belong to the old state
    this.#reader = this.source.read(this.wanted);
    const fresh: Record<Kind, Map<number, readonly Entry[]>> = { folder: new Map(), file: new Map() };
    const wanted = this.#pagesOf(...this.#window);
    const visible = wanted.length;
    for (const [from, to] of this.held()) {
      for (const [kind, page] of this.#pagesOf(Math.max(0, from - moved), Math.min(this.total, to + moved)))
        if (wanted.length < visible + heldPages && !wanted.some((one) => one[0] === kind && one[1] === page))
          wanted.push([kind, page]);
    }
    const kinds: Kind[] = this.#reader.split ? ["folder", "file"] : ["file"];
    for (const kind of kinds) if (!wanted.some(([one]) => one === kind)) wanted.push([kind, 0]);
    const answers = await Promise.all(
      wanted.map(async ([kind, page]) => [kind, page, await this.#fetch(kind, page)] as const),
    );
    if (!again && answers.some(([, , answer]) => answer.changed)) return this.#renew(true);
    this.#asked.clear();
    this.around(() => {
      this.#pages = fresh;
      for (const [kind, page, answer] of answers) this.#keep(kind, page, answer);
    });
    this.problem = undefined;
    this.look(...this.#window);
  }

  /**
   * All entries at some indices. Entries that are not loaded are fetched in large pages. Throws
   * Failure.
   */
  async collect(chosen: Ranges): Promise<Entry[]> {
    const found: Entry[] = [];
    const blocks = new Map<string, Promise<readonly Entry[]>>();
    const size = this.source.most;
    for (const index of each(chosen)) {
      const known = this.at(index);
      if (known) {
        found.push(known);
        continue;
      }
      const [kind, nth] = this.#place(index);
      const block = Math.floor(nth / size);
      const key = `${kind}${block}`;
      if (!blocks.has(key))
        blocks.set(
          key,
          this.#fetch(kind, block, size).then(({ items, changed }) => {
            // its indices are not those of the selection any more
            if (changed) throw new Failure("OPERATION_FAILED", "");
            return items;
          }),
        );
      const entry = (await blocks.get(key)!)[nth % size];
      if (entry) found.push(entry);
    }
    return found;
  }

  /**
   * The index of the next entry, starting at `from`, whose name begins with a text; -1 without one.
   * Searches the loaded entries and, in a listing ordered by name, the other ones by bisection.
   */
  async find(prefix: string, from: number): Promise<number> {
    const text = prefix.toLowerCase();
    const fits = (entry: Entry | undefined) => entry !== undefined && entry.name.toLowerCase().startsWith(text);
    const near = Math.min(this.total, 2000);
    for (let step = 0; step < near; step++) {
      const index = (from + step) % this.total;
      if (fits(this.at(index))) return index;
    }
    if ((this.wanted.sort ?? this.mount?.sortBy) !== "name") return -1;
    const descending = (this.wanted.order ?? this.mount?.sortOrder) === "desc";
    const { findName } = await import("./nameOrder");
    const size = this.#size;
    for (const kind of ["folder", "file"] as const) {
      const before = kind === "file" ? this.folders : 0;
      const length = kind === "file" ? this.files : this.folders;
      if (length <= size) continue;
      const nth = await findName({ length, size, descending, page: (page) => this.#page(kind, page) }, prefix);
      if (nth >= 0) return before + nth;
    }
    return -1;
  }

  async #page(kind: Kind, page: number): Promise<readonly Entry[]> {
    const known = this.#pages[kind].get(page);
    if (known) return known;
    const answer = await this.#fetch(kind, page);
    this.#keep(kind, page, answer);
    return answer.items;
  }

  async #begin(): Promise<void> {
    try {
      await this.refresh();
      this.loaded = true;
    } catch (cause) {
      if (!this.#stop.signal.aborted) this.failed = cause instanceof Failure ? cause : new Failure("", String(cause));
    }
  }

  #place(index: number): [Kind, number] {
    return index < this.folders ? ["folder", index] : ["file", index - this.folders];
  }

  #pagesOf(from: number, to: number): [Kind, number][] {
    const pages: [Kind, number][] = [];
    const span = (kind: Kind, first: number, last: number) => {
      for (let page = Math.floor(first / this.#size); page * this.#size < last; page++) pages.push([kind, page]);
    };
    span("folder", from, Math.min(to, this.folders));
    span("file", Math.max(0, from - this.folders), to - this.folders);
    return pages;
  }

  #pump(): void {
    while (this.#asked.size < inFlight) {
      const next = this.#queue.shift();
      if (!next) return;
      const [kind, page] = next;
      if (!this.#asked.has(`${kind}${page}`) && !this.#pages[kind].has(page)) void this.#load(kind, page);
    }
  }

  async #load(kind: Kind, page: number): Promise<void> {
    const generation = this.#generation;
    const key = `${kind}${page}`;
    this.#asked.add(key);
    try {
      const answer = await this.#fetch(kind, page);
      if (generation !== this.#generation) return;
      this.problem = undefined;
      if (answer.changed) return void this.refresh().catch((cause) => this.#complain(cause));
      this.#keep(kind, page, answer);
    } catch (cause) {
      if (generation !== this.#generation) return;
      this.#complain(cause);
    }
    this.#asked.delete(key);
    this.#pump();
  }

  #complain(cause: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.problem = cause instanceof Failure ? cause : new Failure("", String(cause));
    this.#queue = [];
  }

  #keep(kind: Kind, page: number, answer: Page): void {
    const pages = this.#pages[kind];
    pages.set(page, answer.items);
    if (pages.size > keptPages) {
      const here = this.#pagesOf(...this.#window)[0]?.[1] ?? 0;
      pages.delete([...pages.keys()].reduce((a, b) => (Math.abs(a - here) > Math.abs(b - here) ? a : b)));
    }
    if (kind === "folder" && page === 0) this.pictured = answer.items.some(hasCovers);
    if (kind === "folder") this.folders = answer.total;
    else this.files = answer.total;
    this.folder = answer.folder;
    this.mount = answer.mount;
    this.months = answer.months ?? noMonths;
    this.#version++;
  }

  #fetch(kind: Kind, page: number, limit = this.#size): Promise<Page> {
    return this.#reader.page(kind, page, limit, this.#stop.signal);
  }
}
