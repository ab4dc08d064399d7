/**
 * The upload queue for the screens: its actions, and its state, redrawn at most ten times a second.
 */
import type { Failure } from "./api";
import { session, refresh } from "./session.svelte";
import { folderChanged } from "./upload/changes";
import { Engine } from "./upload/engine";
import { active, type Answer, type Batch, type Entry, type Item, type Offered, type State } from "./upload/item";
import { Meter } from "./upload/meter";
import { chosen, photoName, walkHandle, type Walked } from "./upload/walk";

export type { Answer, Batch, Entry, Item, Offered };

const frame = 100; // ms

/** The queue in numbers. */
export interface Summary {
  total: number;
  done: number;
  /** Of those done: files that were not stored, because the same file was there already. */
  same: number;
  failed: number;
  conflicts: number;
  /** Files that the user must choose again. */
  lost: number;
  active: number;
  /** Files under way or queued. */
  going: number;
  paused: number;
  bytes: number;
  sent: number;
  /** Bytes of the files under way or queued: none of them counts as used storage yet. */
  rest: number;
  /** Bytes per second. */
  speed: number;
  /** The time left in ms; 0 when it is unknown. */
  left: number;
  /** The user has paused all uploads. */
  halted: boolean;
  stopped: Failure | undefined;
}

/** A line of the list: the heading of a batch, or a file. */
export type Line = { batch: Batch; item?: undefined } | { batch: Batch; item: Item };

const nothing: Summary = {
  total: 0,
  done: 0,
  same: 0,
  failed: 0,
  conflicts: 0,
  lost: 0,
  active: 0,
  going: 0,
  paused: 0,
  bytes: 0,
  sent: 0,
  rest: 0,
  speed: 0,
  left: 0,
  halted: false,
  stopped: undefined,
};

/** Items that are active or need the user come first. */
const rank: Record<State, number> = {
  starting: 0,
  uploading: 0,
  finishing: 0,
  conflict: 1,
  error: 1,
  "needs-file": 1,
  paused: 2,
  queued: 3,
  done: 4,
};

class Uploads {
  summary = $state.raw<Summary>(nothing);
  lines = $state.raw<Line[]>([]);

  private engine = new Engine({ changed: () => this.changed(), done: (item) => this.finished(item) });
  private bytes = new Meter();
  private files = new Meter();
  private moved = 0;
  private done = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pulse: ReturnType<typeof setInterval> | undefined;
  private drawn = 0;

  /** Resumes unfinished uploads. */
  async begin(): Promise<void> {
    if (session.me) await this.engine.begin(session.me.profile.username);
  }

  /**
   * Uploads files into a folder. `batch` groups them with other files of that batch id, `folders`
   * are empty folders to create, `done` is called for each finished file.
   */
  async add(
    files: Iterable<Offered>,
    target: string,
    how: { batch?: string; folders?: string[]; done?: (entry: Entry) => void } = {},
  ): Promise<void> {
    await this.begin();
    const adding = this.engine.add(files, target, how);
    if (this.timer && this.delay() === 0) this.draw(); // without a task in between: the page may be busy
    await adding;
  }

  /**
   * Opens a file or folder chooser, or the camera, and uploads the choice. Call it from a click or
   * a key.
   */
  async pick(
    target: string,
    {
      folder = false,
      camera = false,
      ...how
    }: { folder?: boolean; camera?: boolean; done?: (entry: Entry) => void } = {},
  ): Promise<void> {
    const { files, folders } = camera ? { files: await photograph(), folders: [] } : await choose(folder);
    if (files.length > 0 || folders.length > 0) await this.add(files, target, { folders, ...how });
  }

  /**
   * Lets the user choose again the files that a reload has detached. Resolves to the number of
   * chosen files that match no item.
   */
  async find({ folder = false } = {}): Promise<number> {
    await this.engine.unlock();
    if (!this.engine.items.some((item) => item.state === "needs-file")) return 0;
    return this.engine.rebind((await choose(folder)).files);
  }

  pause = (item: Item) => this.engine.pause(item);
  resume = (item: Item) => this.engine.resume(item);
  cancel = (item: Item) => this.engine.cancel([item]);
  answer = (item: Item, answer: Answer, all: boolean) => this.engine.answer(item, answer, all);
  retryAll = () => this.engine.retry();
  pauseAll = () => this.engine.pauseAll();
  resumeAll = () => this.engine.resumeAll();
  clear = () => this.engine.cancel(this.engine.items);
  cancelAll = () => this.engine.cancelAll();
  cancelWaiting = () => this.engine.cancelAll((item) => item.state === "queued");

  /** Reports whether closing the page would interrupt an upload. */
  get busy(): boolean {
    return this.engine.busy;
  }

  /** The next item with a name conflict. */
  get conflict(): Item | undefined {
    return this.lines.find(({ item }) => item?.state === "conflict")?.item;
  }

  private finished(item: Item): void {
    this.done++;
    folderChanged(item.folder);
  }

  private changed(): void {
    if (this.timer) return;
    this.timer = setTimeout(() => this.draw(), this.delay());
  }

  /** The time until the next drawing is due, in ms. */
  private delay(): number {
    return Math.max(0, this.drawn + frame - performance.now());
  }

  private draw(): void {
    const now = performance.now();
    clearTimeout(this.timer);
    this.timer = undefined;
    this.drawn = now;
    const before = this.summary;
    this.bytes.add(this.engine.moved - this.moved, now);
    this.files.add(this.done, now);
    this.moved = this.engine.moved;
    this.done = 0;
    this.summary = this.count();
    this.lines = this.order();
    if (!this.engine.busy) {
      this.bytes.reset();
      this.files.reset();
      clearInterval(this.pulse);
      this.pulse = undefined;
      // without progress, the speed must fall
    } else this.pulse ??= setInterval(() => this.changed(), 1000);
    // The used storage has changed: at the end of the queue, and when it stops and when the files
    // that were under way then have arrived.
    const after = this.summary;
    if (
      (before.going > 0 && after.going === 0) ||
      (after.stopped && (!before.stopped || (before.active > 0 && after.active === 0)))
    )
      void refresh().catch(() => undefined);
  }

  private count(): Summary {
    const sum = { ...nothing, halted: this.engine.paused, stopped: this.engine.stopped };
    let bytesLeft = 0;
    for (const item of this.engine.items) {
      sum.total++;
      sum.bytes += item.size;
      sum.sent += item.state === "done" ? item.size : item.sent;
      if (active(item)) sum.active++;
      if (active(item) || item.state === "queued") {
        sum.going++;
        sum.rest += item.size;
        bytesLeft += item.size - item.sent;
      } else if (item.state === "done") {
        sum.done++;
        if (item.same) sum.same++;
      } else if (item.state === "error") sum.failed++;
      else if (item.state === "conflict") sum.conflicts++;
      else if (item.state === "needs-file") sum.lost++;
      else sum.paused++;
    }
    sum.speed = this.bytes.speed;
    // For many small files the number of files determines the time left, not their size.
    const bySize = sum.speed > 0 ? bytesLeft / sum.speed : 0;
    const byCount = this.files.speed > 1 ? sum.going / this.files.speed : 0;
    sum.left = sum.going > 0 ? Math.max(bySize, byCount) * 1000 : 0;
    return sum;
  }

  private order(): Line[] {
    const lines: Line[] = [];
    for (const batch of [...this.engine.batches].reverse()) {
      lines.push({ batch });
      const ranks: Item[][] = [[], [], [], [], []];
      for (const item of batch.items) ranks[rank[item.state]]!.push(item);
      for (const items of ranks) for (const item of items) lines.push({ batch, item });
    }
    return lines;
  }
}

export const uploads = new Uploads();

type Picker = (how?: { multiple: boolean }) => Promise<FileSystemHandle | FileSystemHandle[]>;

/**
 * Opens a file chooser. On https some browsers provide handles, which survive the page; otherwise
 * an input element is used.
 */
async function choose(folder: boolean): Promise<Walked> {
  const pickers = window as unknown as Record<string, Picker | undefined>;
  const picker = pickers[folder ? "showDirectoryPicker" : "showOpenFilePicker"];
  const walked: Walked = { files: [], folders: [] };
  if (location.protocol !== "https:" || !picker) {
    walked.files = chosen(await chooseByInput({ multiple: "", ...(folder && { webkitdirectory: "" }) }));
    return walked;
  }
  try {
    for (const handle of [await picker.call(window, { multiple: true })].flat()) await walkHandle(handle, "", walked);
  } catch {
    // the user cancelled
  }
  return walked;
}

/** Opens the camera of a phone. The photo gets a name of its time: many phones name all alike. */
async function photograph(): Promise<Offered[]> {
  const photos = await chooseByInput({ accept: "image/*", capture: "environment" });
  return photos.map((photo) => {
    const { type, lastModified } = photo;
    const name = photoName(photo);
    return { file: new File([photo], name, { type, lastModified }), relPath: name };
  });
}

/** Opens the chooser of an input element with some attributes. */
function chooseByInput(attributes: Record<string, string>): Promise<File[]> {
  return new Promise((resolve) => {
    const input = document.createElement("input");
    for (const [name, value] of Object.entries({ type: "file", ...attributes })) input.setAttribute(name, value);
    input.hidden = true;
    const over = () => {
      input.remove();
      resolve([...(input.files ?? [])]);
    };
    input.addEventListener("change", over);
    input.addEventListener("cancel", over);
    document.body.append(input);
    input.click();
  });
}
