/**
 * The upload queue: the items that wait, run or have failed, and their copies in IndexedDB for the
 * next page load. The queue calls `changed` after each change and does not draw anything itself.
 *
 * queued → starting → uploading → finishing → done; an item may also be paused, error, conflict or
 * needs-file. Three files upload in parallel, over four requests. A failed file does not stop the
 * others, unless the storage is full: then the whole queue stops.
 */
import { Failure } from "../api";
import { dropReceived } from "../received";
import { Folders } from "./folders";
import {
  active,
  below,
  filesAtOnce,
  largest,
  requestsAtOnce,
  unfinished,
  type Answer,
  type Batch,
  type Entry,
  type Item,
  type Offered,
  type State,
} from "./item";
import { random } from "./random";
import { reopen } from "./reopen";
import { Slots } from "./retry";
import { isSame } from "./same";
import { Store, type StoredItem } from "./store";
import { Tabs } from "./tabs";
import { abandon, transfer } from "./transfer";

/**
 * Files are added in chunks of at most so many files and ms, so that thousands of files do not
 * freeze the page. The first chunk fills the visible part of the list, so that it appears at once.
 */
const chunk = { first: 40, files: 200, ms: 30 };

export interface Watcher {
  changed(): void;
  done(item: Item, entry: Entry): void;
}

export class Engine {
  batches: Batch[] = [];
  /** The user has paused all uploads. */
  paused = false;
  /**
   * The reason why the queue has stopped: the storage is full, or a proxy rejects bodies of this
   * size.
   */
  stopped: Failure | undefined;

  /** Bytes sent since the page was opened. */
  moved = 0;

  private waiting: Item[] = [];
  /** New items that the store does not have yet. */
  private unstored: Item[] = [];
  /** How often cancelAll was called. */
  private cancelled = 0;
  private running = 0;
  private added = 0;
  private slots = new Slots(requestsAtOnce);
  private folders = new Folders(this.slots);
  private store = new Store();
  private tabs = new Tabs();
  private user = "";

  constructor(private watcher: Watcher) {}

  /** Resumes the user's unfinished uploads from this browser whose tabs are closed. */
  async begin(user: string): Promise<void> {
    if (this.user) return;
    this.user = user;
    this.tabs.enter(() => void this.takeOver());
    window.addEventListener("online", () => this.retry((item) => item.failure?.code === "NETWORK"));
    await this.takeOver();
  }

  get items(): Item[] {
    return this.batches.flatMap((batch) => batch.items);
  }

  /** Reports whether closing the page would interrupt an upload. */
  get busy(): boolean {
    return this.running > 0 || this.waiting.some((item) => item.state === "queued");
  }

  /**
   * Queues files for a folder, the first ones before it returns. A file that is already queued and
   * not finished is not queued twice: it gets its file object again and goes on. cancelAll also
   * drops the files that are not queued yet.
   */
  async add(
    offered: Iterable<Offered>,
    path: string,
    how: { batch?: string; folders?: string[]; done?: (entry: Entry) => void } = {},
  ): Promise<void> {
    const id = how.batch ?? random();
    let batch: Batch | undefined;
    const known = new Map(
      this.items.filter(unfinished).map((item) => [identity(below(item.batch.path, item.relPath), item), item]),
    );
    const { cancelled } = this;
    const late: LateHandle[] = [];
    let most = chunk.first;
    let taken = 0;
    let began = performance.now();
    for (const one of offered) {
      const stats = statsOf(one.file);
      let item = known.get(identity(below(path, one.relPath), stats));
      if (item) this.bind(item, one);
      else {
        batch ??= this.batches.find((one) => one.id === id && one.path === path);
        batch ??= { id, path, at: Date.now(), indirect: false, items: [] };
        if (!this.batches.includes(batch)) this.batches.push(batch); // also if all before it were skipped
        item = this.enqueue(batch, one, stats, how.done);
      }
      if (one.lateHandle) late.push({ item, handle: one.lateHandle });
      if (++taken === most || performance.now() - began > chunk.ms) {
        await new Promise((resolve) => setTimeout(resolve));
        this.start();
        if (this.cancelled !== cancelled) return;
        most = chunk.files;
        taken = 0;
        began = performance.now();
      }
    }
    this.start();
    void this.attach(late);
    for (const folder of how.folders ?? []) await this.folders.ensure(path, folder);
  }

  private enqueue(
    batch: Batch,
    { file, relPath, handle, received }: Offered,
    { size, mtime }: Stats,
    done?: (entry: Entry) => void,
  ): Item {
    const id = random();
    const slash = relPath.lastIndexOf("/");
    const item: Item = {
      id,
      key: id,
      batch,
      order: this.added++,
      folder: slash < 0 ? batch.path : below(batch.path, relPath.slice(0, slash)),
      relPath,
      name: relPath.slice(slash + 1),
      size,
      mtime,
      state: "queued",
      file,
      handle,
      received,
      conflict: "fail",
      begun: false,
      sent: 0,
      parts: { done: 0, total: 0 },
      done,
    };
    batch.items.push(item);
    this.unstored.push(item);
    if (size > largest) this.fail(item, new Failure("PAYLOAD_TOO_LARGE", "The file is too large."));
    else this.queue(item);
    return item;
  }

  /** Gives items the handles that were not there when the items were queued. */
  private async attach(late: LateHandle[]): Promise<void> {
    for (const { item, handle } of late) {
      const found = await handle;
      if (found && unfinished(item)) item.handle = found;
    }
    if (late.length > 0) await this.persist(this.items.filter(reopens));
  }

  /** Stores and starts the new items. */
  private start(): void {
    this.persist(this.unstored);
    this.unstored = [];
    this.pump();
  }

  /**
   * Assigns files to the items that wait for them, in any folder. Returns the number of files that
   * match no item.
   */
  rebind(offered: Iterable<Offered>): number {
    const lost = new Map<string, Item[]>();
    for (const item of this.items.filter((one) => one.state === "needs-file")) {
      for (const path of new Set([item.relPath, item.name])) {
        const key = identity(path, item);
        lost.set(key, [...(lost.get(key) ?? []), item]);
      }
    }
    let strange = 0;
    for (const one of offered) {
      const stats = statsOf(one.file);
      const candidates = lost.get(identity(one.relPath, stats)) ?? lost.get(identity(one.file.name, stats)) ?? [];
      const item = candidates.find((candidate) => candidate.state === "needs-file");
      if (item) this.bind(item, one);
      else strange++;
    }
    this.pump();
    return strange;
  }

  private bind(item: Item, { file, handle, received }: Offered): void {
    const needless = active(item) || item.state === "queued" || item.state === "conflict";
    if (received && received.join() !== item.received?.join()) {
      // the user has sent the file twice; one of the two copies is removed
      const other = needless ? received : item.received;
      if (other) void dropReceived([other]).catch(() => undefined);
      if (!needless) item.received = received;
    }
    if (needless) return;
    item.file = file;
    item.handle = handle ?? item.handle;
    this.queue(item);
    this.persist([item]);
  }

  /**
   * Requests access to the files whose handles the browser has kept. The browser may ask the user,
   * so call it from a click.
   */
  unlock(): Promise<void> {
    return this.reopen(this.items, true);
  }

  /** Opens the files of items that have none, as far as that needs no choice by the user. */
  private async reopen(items: readonly Item[], ask: boolean): Promise<void> {
    for (const item of items) {
      if (item.state !== "needs-file") continue;
      const offered = await reopen(item, ask);
      // It may be cancelled meanwhile, or have its file from a choice of the user.
      if (!offered || (item.state as State) !== "needs-file" || !item.batch.items.includes(item)) continue;
      this.bind(item, offered);
      this.pump();
    }
  }

  pause(item: Item): void {
    if (active(item) || item.state === "queued") this.halt(item, "paused");
  }

  /** Retries a failed item, or resumes a paused one. */
  resume(item: Item): void {
    this.resumeThese([item]);
  }

  private resumeThese(items: readonly Item[]): void {
    const resumed = items.filter((item) => item.state === "paused" || item.state === "error");
    for (const item of resumed) {
      if (item.file) this.queue(item);
      else item.state = "needs-file";
    }
    this.persist(resumed);
    this.watcher.changed();
    this.pump();
    void this.reopen(resumed, true);
  }

  pauseAll(): void {
    this.paused = true;
    for (const item of this.items.filter(active).reverse()) this.halt(item, "queued");
    this.persist(this.items.filter(reopens));
  }

  resumeAll(): void {
    this.paused = false;
    this.stopped = undefined;
    this.persist(this.items.filter(reopens));
    this.resumeThese(this.items.filter((item) => item.state === "paused"));
  }

  /** Retries failed items. */
  retry(which: (item: Item) => boolean = () => true): void {
    this.stopped = undefined;
    this.resumeThese(this.items.filter((item) => item.state === "error" && which(item)));
  }

  /** Answers a name conflict; with `all`, for the whole batch. */
  answer(item: Item, answer: Answer, all: boolean): void {
    if (all) item.batch.answer = answer;
    for (const one of all ? [...item.batch.items] : [item])
      if (one.state === "conflict" && (one === item || answersFor(one, answer))) this.settle(one, answer);
    this.pump();
  }

  private settle(item: Item, answer: Answer): void {
    if (answer === "skip") return this.cancel([item]);
    item.conflict = answer;
    // The conflict mode of a session cannot change, so the item needs a new session under a new
    // key.
    void abandon(item);
    item.key = random();
    this.queue(item);
    this.persist([item]);
  }

  /** Removes items from the queue, and their sessions from the server. */
  cancel(items: Item[]): void {
    const gone = new Set(items);
    for (const item of gone) {
      const begun = unfinished(item);
      this.halt(item, item.state);
      if (begun) void abandon(item);
    }
    const batches = [...new Set(items.map((item) => item.batch))];
    for (const batch of batches) batch.items = batch.items.filter((item) => !gone.has(item));
    const ended = batches.filter((batch) => !batch.items.some(unfinished));
    this.store.noteCancelled(
      ended.map((batch) => batch.id),
      this.tabs.id,
    );
    this.batches = this.batches.filter((batch) => batch.items.length > 0);
    this.waiting = this.waiting.filter((item) => !gone.has(item));
    this.unstored = this.unstored.filter((item) => !gone.has(item));
    void this.store.remove(items);
    if (!this.items.some((item) => item.state === "queued")) this.stopped = undefined;
    this.watcher.changed();
    this.pump();
  }

  /** Removes the items in question from the queue, and those that are not queued yet. */
  cancelAll(which: (item: Item) => boolean = unfinished): void {
    this.cancelled++;
    this.cancel(this.items.filter(which));
  }

  private queue(item: Item): void {
    delete item.failure;
    delete item.again;
    item.state = "queued";
    this.waiting.push(item);
    this.watcher.changed();
  }

  /** Aborts the transfer of an item. */
  private halt(item: Item, state: Item["state"]): void {
    const under = item.abort;
    item.abort = undefined;
    item.state = state;
    if (under && state === "queued") this.waiting.unshift(item);
    under?.abort(new DOMException("Halted", "AbortError"));
    if (state === "paused") this.persist([item]);
    this.watcher.changed();
  }

  private fail(item: Item, failure: Failure): void {
    item.failure = failure;
    item.state = "error";
    this.watcher.changed();
  }

  private pump(): void {
    while (this.running < filesAtOnce && !this.paused && !this.stopped) {
      const item = this.waiting.shift();
      if (!item) return;
      if (item.state === "queued" && !item.abort) void this.run(item);
    }
  }

  private async run(item: Item): Promise<void> {
    const abort = (item.abort = new AbortController());
    const { signal } = abort;
    this.running++;
    item.state = "starting";
    this.watcher.changed();
    try {
      const entry = await this.upload(item, signal);
      signal.throwIfAborted();
      this.end(item, entry);
      this.watcher.done(item, entry);
    } catch (cause) {
      const failure = cause instanceof Failure ? cause : new Failure("UNKNOWN", String(cause));
      const same = !signal.aborted && (await isSame(item, failure, signal).catch(() => false));
      if (same && !signal.aborted) this.end(item, failure.existing!, true);
      else if (!signal.aborted) this.failed(item, failure);
    } finally {
      if (item.abort === abort) item.abort = undefined;
      this.running--;
      this.watcher.changed();
      this.pump();
    }
  }

  /** Ends an item whose file is in the folder. `same`: the folder had the same file before. */
  private end(item: Item, entry: Entry, same = false): void {
    Object.assign(item, { state: "done", same, entry, sent: item.size });
    void this.store.remove([item]);
    item.file = item.handle = item.received = undefined; // frees memory; there may be thousands of items
    item.done?.(entry);
  }

  private async upload(item: Item, signal: AbortSignal): Promise<Entry> {
    const slash = item.relPath.lastIndexOf("/");
    if (slash > 0) await this.folders.ensure(item.batch.path, item.relPath.slice(0, slash));
    signal.throwIfAborted();
    return transfer(item, {
      signal,
      slots: this.slots,
      changed: () => this.watcher.changed(),
      keep: () => this.persist([item]),
      moved: (bytes) => (this.moved += bytes),
    });
  }

  private failed(item: Item, failure: Failure): void {
    item.sent = 0;
    if (failure.code === "ALREADY_EXISTS") {
      item.state = "conflict";
      item.existing = failure.existing;
      const { answer } = item.batch;
      if (answer && answersFor(item, answer)) this.settle(item, answer);
    } else if (failure.code === "QUOTA_EXCEEDED" || failure.status === 413) {
      this.stopped = failure;
      item.state = "queued";
      this.waiting.unshift(item);
    } else {
      if (failure.code === "FORBIDDEN" && item.conflict === "replace") {
        item.conflict = "fail"; // the user may still choose another answer at the next attempt
        delete item.batch.answer;
      }
      this.fail(item, failure);
    }
  }

  /** Stores the items that must survive a reload. */
  private persist(items: Item[]): Promise<void> {
    const kept = items.filter(unfinished).map((item) => this.stored(item));
    return kept.length > 0 ? this.store.put(kept) : Promise.resolve();
  }

  private stored(item: Item): StoredItem {
    const { id, path, at } = item.batch;
    return {
      id: item.id,
      key: item.key,
      user: this.user,
      tab: this.tabs.id,
      batch: { id, path, at },
      relPath: item.relPath,
      size: item.size,
      mtime: item.mtime,
      conflict: item.conflict,
      begun: item.begun,
      sessionId: item.sessionId,
      paused: this.paused || item.state === "paused",
      order: item.order,
      handle: item.handle,
      received: item.received,
    };
  }

  /** Queues the items of closed tabs again. */
  private async takeOver(): Promise<void> {
    const left = await this.store.claim(this.user, this.tabs.id, this.tabs.isAlive);
    const unpaused: Item[] = [];
    for (const kept of left) {
      let batch = this.batches.find((one) => one.id === kept.batch.id);
      if (!batch) this.batches.push((batch = { ...kept.batch, indirect: false, items: [] }));
      const { relPath } = kept;
      const slash = relPath.lastIndexOf("/");
      const item: Item = {
        id: kept.id,
        key: kept.key,
        batch,
        order: kept.order,
        folder: slash < 0 ? batch.path : below(batch.path, relPath.slice(0, slash)),
        relPath,
        name: relPath.slice(slash + 1),
        size: kept.size,
        mtime: kept.mtime,
        state: kept.paused && kept.received ? "paused" : "needs-file",
        handle: kept.handle,
        received: kept.received,
        conflict: kept.conflict,
        begun: kept.begun,
        sessionId: kept.sessionId,
        sent: 0,
        parts: { done: 0, total: 0 },
      };
      batch.items.push(item);
      if (!kept.paused) unpaused.push(item);
    }
    if (left.length === 0) return;
    this.watcher.changed();
    await this.reopen(unpaused, false);
  }
}

/**
 * Reports whether an item with a conflict may replace the entry of its name. A file cannot replace
 * a folder. If the server does not say that a folder has the name, the item has a second conflict
 * after it was to be replaced.
 */
export function replaceable(item: Item): boolean {
  return item.existing?.type !== "folder" && item.conflict !== "replace";
}

/** Reports whether an answer for a whole batch applies to an item with a conflict. */
function answersFor(item: Item, answer: Answer): boolean {
  return answer !== "replace" || replaceable(item);
}

/** Reports whether a later page can open the file of an item without a choice by the user. */
function reopens(item: Item): boolean {
  return unfinished(item) && (item.handle ?? item.received) !== undefined;
}

interface LateHandle {
  item: Item;
  handle: Promise<FileSystemFileHandle | null>;
}

interface Stats {
  size: number; // bytes
  mtime: number; // ms
}

/** Read only once per file: the browser reads these values from the disk, synchronously. */
function statsOf(file: File): Stats {
  return { size: file.size, mtime: file.lastModified };
}

/** Identifies a file that the user hands over again. */
function identity(path: string, { size, mtime }: Stats): string {
  return `${path}\0${size}\0${mtime}`;
}
