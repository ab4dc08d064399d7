/**
 * What is in a folder, or what a search has found: folders, then files, as one row of entries of known length of which only the pages are fetched
 * that somebody looks at. `at` is reactive.
 */
import { client, Failure, take, type Schemas } from "./api";
import type { Entry } from "./entry";
import { each, type Ranges } from "./ranges";

export type Sort = "name" | "time" | "size" | "manual";
export type Order = "asc" | "desc";

export interface Wanted {
  path: string;
  /** Without one the mount's. */
  sort?: Sort | undefined;
  order?: Order | undefined;
  /** Part of a name; "" for what is right in the folder. */
  search: string;
  /** As somebody without an account sees it. */
  visitor: boolean;
}

type Kind = "folder" | "file";
type Answer = Schemas["ApiListFilesReply"];

const pageSize = 200;
const inFlight = 3;
/** Pages that are kept; the farthest from what is looked at go first. */
const keptPages = 100;

export class Listing {
  readonly wanted: Wanted;
  /** Resolves when the first pages have come, or failed to. */
  readonly ready: Promise<void>;
  /** Why there is nothing to see, undefined when there is. */
  failed = $state.raw<Failure>();
  /** Why the last page did not come. */
  problem = $state.raw<Failure>();
  loaded = $state(false);
  folders = $state(0);
  files = $state(0);
  folder = $state.raw<Entry | null>(null);
  mount = $state.raw<Answer["mount"]>(null);
  readonly total = $derived(this.folders + this.files);
  #version = $state(0);

  #pages: Record<Kind, Map<number, readonly Entry[]>> = { folder: new Map(), file: new Map() };
  #asked = new Set<string>();
  #queue: [Kind, number][] = [];
  #window: [number, number] = [0, 0];
  #generation = 0;
  #refreshing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #stop = new AbortController();

  constructor(wanted: Wanted) {
    this.wanted = wanted;
    this.ready = this.#begin();
  }

  /** Ends all requests; nothing changes any more. */
  close(): void {
    this.#stop.abort();
  }

  /** The entry at an index, undefined while it is on its way. */
  at(index: number): Entry | undefined {
    void this.#version;
    const [kind, nth] = this.#place(index);
    return this.#pages[kind].get(Math.floor(nth / pageSize))?.[nth % pageSize];
  }

  /** The index of an entry, -1 when it is not among those that are loaded. */
  indexOf(id: string): number {
    for (const kind of ["folder", "file"] as const) {
      for (const [page, entries] of this.#pages[kind]) {
        const nth = entries.findIndex((entry) => entry.id === id);
        if (nth >= 0) return (kind === "file" ? this.folders : 0) + page * pageSize + nth;
      }
    }
    return -1;
  }

  /** Says what is looked at, so that it is fetched. What was asked for earlier and is out of sight is not fetched any more. */
  look(from: number, to: number): void {
    this.#window = [from, to];
    this.#queue = this.#pagesOf(from, to).filter(
      ([kind, page]) => !this.#pages[kind].has(page) && !this.#asked.has(`${kind}${page}`),
    );
    this.#pump();
  }

  /** Puts what is known anew about an entry in its place. */
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
   * Fetches anew what is looked at, and forgets the rest. What is seen stays until the new has come. However often that is asked for while it goes on, as
   * by uploads while the server wants a pause, it is done once more after that. Throws Failure.
   */
  refresh(): Promise<void> {
    if (!this.#refreshing) return (this.#refreshing = this.#renew().finally(() => (this.#refreshing = undefined)));
    return (this.#next ??= this.#refreshing
      .catch(() => undefined) // told to those who wait for it
      .then(() => {
        this.#next = undefined;
        return this.refresh();
      }));
  }

  async #renew(): Promise<void> {
    this.#generation++; // what is on its way belongs to what was
    const fresh: Record<Kind, Map<number, readonly Entry[]>> = { folder: new Map(), file: new Map() };
    const wanted = this.#pagesOf(...this.#window);
    for (const kind of ["folder", "file"] as const) if (!wanted.some(([one]) => one === kind)) wanted.push([kind, 0]);
    const answers = await Promise.all(
      wanted.map(async ([kind, page]) => [kind, page, await this.#fetch(kind, page + 1, pageSize)] as const),
    );
    this.#asked.clear();
    this.#pages = fresh;
    for (const [kind, page, answer] of answers) this.#keep(kind, page, answer);
    this.problem = undefined;
    this.look(...this.#window);
  }

  /** All entries at some indices, fetched in pages of 1,000 where they are not loaded. Throws Failure. */
  async collect(chosen: Ranges): Promise<Entry[]> {
    const found: Entry[] = [];
    const blocks = new Map<string, Promise<readonly Entry[]>>();
    const size = 1000;
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
          this.#fetch(kind, block + 1, size).then(({ items }) => items),
        );
      const entry = (await blocks.get(key)!)[nth % size];
      if (entry) found.push(entry);
    }
    return found;
  }

  /**
   * The index of the next entry from one on whose name begins with a text, -1 without one: among what is loaded, and, where the order is that of the
   * names, by halving what is not.
   */
  async find(prefix: string, from: number): Promise<number> {
    const text = prefix.toLowerCase();
    const fits = (entry: Entry | undefined) => entry !== undefined && entry.name.toLowerCase().startsWith(text);
    const near = Math.min(this.total, 2000);
    for (let step = 0; step < near; step++) {
      const index = (from + step) % this.total;
      if (fits(this.at(index))) return index;
    }
    if ((this.wanted.sort ?? this.mount?.sortBy) !== "name" || this.files <= pageSize) return -1;
    const down = (this.wanted.order ?? this.mount?.sortOrder) === "desc";
    let low = 0;
    let high = Math.ceil(this.files / pageSize) - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      const last = (await this.#page("file", middle)).at(-1)?.name.toLowerCase() ?? "";
      if (down ? last >= text && !last.startsWith(text) : last < text) low = middle + 1;
      else high = middle;
    }
    const nth = (await this.#page("file", low)).findIndex(fits);
    return nth < 0 ? -1 : this.folders + low * pageSize + nth;
  }

  async #page(kind: Kind, page: number): Promise<readonly Entry[]> {
    const known = this.#pages[kind].get(page);
    if (known) return known;
    const answer = await this.#fetch(kind, page + 1, pageSize);
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
      for (let page = Math.floor(first / pageSize); page * pageSize < last; page++) pages.push([kind, page]);
    };
    span("folder", from, Math.min(to, this.folders));
    span("file", Math.max(0, from - this.folders), to - this.folders);
    return pages;
  }

  #pump(): void {
    while (this.#asked.size < inFlight) {
      const next = this.#queue.shift();
      if (!next) return;
      void this.#load(...next);
    }
  }

  async #load(kind: Kind, page: number): Promise<void> {
    const generation = this.#generation;
    const key = `${kind}${page}`;
    this.#asked.add(key);
    try {
      const answer = await this.#fetch(kind, page + 1, pageSize);
      if (generation !== this.#generation) return;
      this.problem = undefined;
      this.#keep(kind, page, answer);
    } catch (cause) {
      if (this.#stop.signal.aborted || generation !== this.#generation) return;
      this.problem = cause instanceof Failure ? cause : new Failure("", String(cause));
      this.#queue = [];
    }
    this.#asked.delete(key);
    this.#pump();
  }

  #keep(kind: Kind, page: number, answer: Answer): void {
    const pages = this.#pages[kind];
    pages.set(page, answer.items);
    if (pages.size > keptPages) {
      const here = this.#pagesOf(...this.#window)[0]?.[1] ?? 0;
      pages.delete([...pages.keys()].reduce((a, b) => (Math.abs(a - here) > Math.abs(b - here) ? a : b)));
    }
    if (kind === "folder") this.folders = answer.pagination.total;
    else this.files = answer.pagination.total;
    this.folder = answer.folder ?? null;
    this.mount = answer.mount;
    this.#version++;
  }

  #fetch(kind: Kind, page: number, limit: number): Promise<Answer> {
    const { path, sort, order, search, visitor } = this.wanted;
    const query = { path, page, limit, type: kind, ...(sort && { sort, order }), ...(search && { search }) };
    const how = { params: { query }, signal: this.#stop.signal };
    return take(visitor ? client.GET("/api/public/files", how) : client.GET("/api/files", how));
  }
}
