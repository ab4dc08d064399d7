/** The scroll position of screens: kept for Back and Forward, and 0 for a new screen. */
import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import type * as Back from "../src/lib/back";
import type * as Router from "../src/lib/router.svelte";

let { go, goQuery, start } = {} as typeof Router;
let { keepPlace } = {} as typeof Back;

/** The entries of the session history, and the shown one. */
let entries: { state: unknown; url: string }[] = [];
let at = 0;
const listeners = new Map<string, () => void>();
/** Each observer of the length of the page that has not ended. */
const watching = new Set<() => void>();
/** The greatest scroll position of the page. */
let longest = 0;

const here = () => new URL(entries[at]!.url, "http://larder.test");

beforeAll(async () => {
  entries = [{ state: null, url: "/app/trash" }];
  vi.stubGlobal("location", {
    get pathname() {
      return here().pathname;
    },
    get search() {
      return here().search;
    },
  });
  vi.stubGlobal("history", {
    get state() {
      return entries[at]!.state;
    },
    pushState(state: unknown, _: string, url: string) {
      entries = [...entries.slice(0, ++at), { state, url }];
    },
    replaceState(state: unknown, _: string, url?: string) {
      entries[at] = { state, url: url ?? entries[at]!.url };
    },
  });
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("document", { body: {}, addEventListener: () => undefined, documentElement: {} });
  vi.stubGlobal("addEventListener", (name: string, listener: () => void) => listeners.set(name, listener));
  vi.stubGlobal("scrollY", 0);
  vi.stubGlobal("scrollTo", ({ top }: { top: number }) => vi.stubGlobal("scrollY", Math.min(top, longest)));
  vi.stubGlobal(
    "ResizeObserver",
    class {
      #changed: () => void;
      constructor(changed: () => void) {
        this.#changed = changed;
      }
      observe() {
        watching.add(this.#changed);
      }
      disconnect() {
        watching.delete(this.#changed);
      }
    },
  );
  ({ go, goQuery, start } = await import("../src/lib/router.svelte"));
  ({ keepPlace } = await import("../src/lib/back"));
  start();
});

/** The page has the length at which it can be scrolled by `most`. */
function grows(most: number): number {
  longest = most;
  vi.stubGlobal("scrollY", Math.min(scrollY, most));
  for (const changed of watching) changed();
  return scrollY;
}

function travel(by: number): void {
  at += by;
  listeners.get("popstate")!();
}

const scrolled = (to: number) => vi.stubGlobal("scrollY", to);

beforeEach(() => {
  go("/app/shares");
  go("/app/trash");
  expect(grows(2000)).toBe(0);
});

test("a new screen begins at its top, Back leads to the place as soon as the content is there", () => {
  scrolled(900);
  go("/app/keys");
  expect(grows(2000)).toBe(0);
  scrolled(50);
  travel(-1);
  expect([grows(0), grows(400), grows(2000), grows(3000)]).toEqual([0, 400, 900, 900]);
  travel(1);
  expect(grows(2000)).toBe(50);
});

test("the query alone leaves the scroll position, and Back restores it", () => {
  scrolled(700);
  goQuery({ page: "2" });
  expect(grows(2000)).toBe(700);
  scrolled(100);
  travel(-1);
  expect(grows(2000)).toBe(700);
  scrolled(300);
  goQuery({ kind: "image" }, { replace: true });
  expect(grows(2000)).toBe(300);
});

test("the user who acts meanwhile keeps the position", () => {
  for (const act of ["wheel", "pointerdown", "keydown"]) {
    scrolled(900);
    go("/app/keys");
    travel(-1);
    expect(grows(100)).toBe(100);
    listeners.get(act)!();
    expect(grows(2000)).toBe(100);
  }
});

test("a folder restores its place itself", () => {
  scrolled(900);
  go("/app/files/a");
  const end = keepPlace("/a", () => 5);
  scrolled(40);
  expect(grows(2000)).toBe(40);
  go("/app/keys");
  end();
  expect(grows(2000)).toBe(0);
  travel(-1);
  const again = keepPlace("/a", () => 0);
  expect(grows(2000)).toBe(0);
  again();
});
