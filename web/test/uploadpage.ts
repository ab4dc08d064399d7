/**
 * A page with an upload queue, on a clock that a test moves, before the server of uploadserver.ts.
 */
import { IDBFactory } from "fake-indexeddb";
import { vi } from "vitest";
import { origin, Server } from "./uploadserver";
import type { Engine } from "../src/lib/upload/engine";
import type { Item, Offered } from "../src/lib/upload/item";

export const MiB = 1024 * 1024;
export const mtime = 1_700_000_000_000;

/** The browser: what outlives a page. */
export class Browser {
  server = new Server();
  network = { onLine: true };
  private storage = new Map<string, string>();
  private pages: EventTarget[] = [];

  constructor() {
    // The engine pauses by setTimeout once performance.now() has moved by some ms: both are of the
    // same clock, or a busy machine makes it wait for a clock that no test moves.
    vi.useFakeTimers({
      toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
    });
    vi.stubGlobal("location", { origin, protocol: "http:", reload: () => undefined });
    vi.stubGlobal("navigator", this.network);
    vi.stubGlobal("indexedDB", new IDBFactory());
    this.server.install();
    vi.stubGlobal("localStorage", {
      getItem: (key: string) => this.storage.get(key) ?? null,
      setItem: (key: string, value: string) => this.storage.set(key, value),
      removeItem: (key: string) => {
        this.storage.delete(key);
        for (const page of this.pages) page.dispatchEvent(Object.assign(new Event("storage"), { key, newValue: null }));
      },
    });
  }

  /**
   * Opens a page of a user. `handle` is the file handle that the browser keeps for each unfinished
   * file: the IndexedDB of these tests cannot copy handles, so reads return this one.
   */
  async open(user = "lin", handle?: object): Promise<Page> {
    vi.resetModules();
    const window = new EventTarget();
    this.pages.push(window);
    vi.stubGlobal("window", window);
    const [{ Engine }, api, stores] = await Promise.all([
      import("../src/lib/upload/engine"),
      import("../src/lib/api"),
      import("../src/lib/upload/stores"),
    ]);
    if (handle) {
      const { Store } = await import("../src/lib/upload/store");
      const claim = Store.prototype.claim;
      vi.spyOn(Store.prototype, "claim").mockImplementation(async function (this: never, ...given) {
        return (await claim.apply(this, given)).map((one) => ({ ...one, handle: handle as never }));
      });
    }
    const page = new Page(window, api, stores);
    page.engine = new Engine({ changed: () => page.changes++, done: (item) => page.done.push(item.name) });
    await page.engine.begin(user);
    return page;
  }

  /** Closes a page, as a reload does; killed, it has no time for anything. */
  close(page: Page, killed = false): void {
    this.server.unload();
    if (!killed) page.window.dispatchEvent(new Event("pagehide"));
    vi.clearAllTimers();
  }

  /**
   * Moves the clock until something is so: by 50 ms at a time, by 500 ms once only a long wait can
   * be meant.
   */
  async until(what: () => boolean, most = 600_000): Promise<void> {
    for (let passed = 0, step = 50; !what(); passed += step) {
      if (passed > most) throw new Error(`never so: ${what.toString()}`);
      step = passed < 10_000 ? 50 : 500;
      await this.step(step);
    }
  }

  /** Moves the clock, in steps: between them IndexedDB, which knows no such clock, has its turn. */
  async pass(ms: number): Promise<void> {
    const step = Math.max(50, ms / 200);
    for (let passed = 0; passed < ms; passed += step) await this.step(step);
  }

  private async step(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export class Page {
  engine!: Engine;
  changes = 0;
  done: string[] = [];

  constructor(
    readonly window: EventTarget,
    readonly api: typeof import("../src/lib/api"),
    readonly stores: typeof import("../src/lib/upload/stores"),
  ) {}

  get items(): Item[] {
    return this.engine.items;
  }

  /** The states of all files, by name. */
  get states(): Record<string, string> {
    return Object.fromEntries(this.items.map((item) => [item.relPath, item.failure?.code ?? item.state]));
  }

  get idle(): boolean {
    return !this.engine.busy;
  }
}

/** A file to upload. It has no bytes, and says how many it has. */
export function file(relPath: string, size: number, changed = mtime): Offered {
  const one = new File([], relPath.slice(relPath.lastIndexOf("/") + 1), { lastModified: changed, type: "image/png" });
  Object.defineProperty(one, "size", { value: size });
  const slice = (from: number, to: number) => ({
    size: to - from,
    type: "",
    arrayBuffer: async () => new ArrayBuffer(0),
  });
  one.slice = slice as never;
  return { file: one, relPath };
}
