import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Browser, file, MiB, mtime } from "./uploadpage";
import type { Offered } from "../src/lib/upload/item";

let browser: Browser;

beforeEach(() => {
  browser = new Browser();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const part = /\/part\/\d+$/;

/**
 * A page that was closed in the middle of a file of ten parts. Resolves to how many the server had
 * by then.
 */
async function half(killed = false, offered: Offered = file("trip/film.mov", 80 * MiB)): Promise<number> {
  const page = await browser.open();
  await page.engine.add([offered], "/photos");
  await browser.until(() => (browser.server.sessions[0]?.parts.size ?? 0) >= 4);
  browser.close(page, killed);
  return browser.server.sessions[0]!.parts.size;
}

test("after a reload the file has to be handed over again, and nothing that came in goes twice", async () => {
  const there = await half();
  const sent = browser.server.times("PUT", part);
  const page = await browser.open();
  await browser.pass(5000);
  expect(page.states).toEqual({ "trip/film.mov": "needs-file" });
  expect(browser.server.times("PUT", part)).toBe(sent);

  await page.engine.add([file("trip/film.mov", 80 * MiB)], "/photos");
  await browser.until(() => page.idle);
  expect(page.states).toEqual({ "trip/film.mov": "done" });
  expect(browser.server.times("PUT", part) - sent).toBe(10 - there);
  expect(browser.server.sessions).toHaveLength(1);
  expect(browser.server.files.get("/photos/trip/film.mov")).toBe(80 * MiB);
});

test.each(["trip/film.mov", "film.mov"])(
  "one that is chosen for it alone, as %s, is found by what it is",
  async (relPath) => {
    await half();
    const page = await browser.open();
    expect(page.engine.rebind([file("other.mov", 5), file(relPath, 80 * MiB)])).toBe(1);
    await browser.until(() => page.idle);
    expect(browser.server.sessions).toHaveLength(1);
    expect(page.states).toEqual({ "trip/film.mov": "done" });
  },
);

test("a file of another time or size is another file", async () => {
  await half();
  const page = await browser.open();
  expect(page.engine.rebind([file("trip/film.mov", 80 * MiB, mtime + 1), file("trip/film.mov", 79 * MiB)])).toBe(2);
  expect(page.states).toEqual({ "trip/film.mov": "needs-file" });
});

test("a handle that the browser still grants needs nobody", async () => {
  const offered = file("trip/film.mov", 80 * MiB);
  await half(false, offered);
  const page = await browser.open("lin", handle(offered, "granted"));
  await browser.until(() => page.idle);
  expect(page.states).toEqual({ "trip/film.mov": "done" });
});

test("a file is sent before its handle is there, and a later page has the handle", async () => {
  let arrive!: (handle: FileSystemFileHandle) => void;
  const lateHandle = new Promise<FileSystemFileHandle>((resolve) => (arrive = resolve));
  const page = await browser.open();
  await page.engine.add([{ ...file("film.mov", 80 * MiB), lateHandle }], "/photos");
  await browser.until(() => (browser.server.sessions[0]?.parts.size ?? 0) >= 4);
  arrive({ kind: "file" } as FileSystemFileHandle);
  await browser.pass(100);
  browser.close(page);

  const next = await browser.open();
  expect(next.engine.items.map(({ name, handle }) => ({ name, handle }))).toEqual([
    { name: "film.mov", handle: { kind: "file" } },
  ]);
});

test("a handle that arrives after the file is sent does not bring the file back", async () => {
  let arrive!: (handle: FileSystemFileHandle) => void;
  const lateHandle = new Promise<FileSystemFileHandle>((resolve) => (arrive = resolve));
  const page = await browser.open();
  await page.engine.add([{ ...file("note.txt", 5), lateHandle }], "/photos");
  await browser.until(() => page.idle);
  arrive({ kind: "file" } as FileSystemFileHandle);
  await browser.pass(100);
  browser.close(page);

  expect((await browser.open()).engine.items).toEqual([]);
});

test("a handle that wants to be asked is asked when somebody says so", async () => {
  const offered = file("trip/film.mov", 80 * MiB);
  await half(false, offered);
  const page = await browser.open("lin", handle(offered, "prompt"));
  await browser.pass(1000);
  expect(page.states).toEqual({ "trip/film.mov": "needs-file" });
  await page.engine.unlock();
  await browser.until(() => page.idle);
  expect(page.states).toEqual({ "trip/film.mov": "done" });
});

/** What a browser keeps of a file. */
function handle({ file: kept }: Offered, permission: string): object {
  return {
    queryPermission: () => Promise.resolve(permission),
    requestPermission: () => Promise.resolve("granted"),
    getFile: () => Promise.resolve(kept),
  };
}

test("the next day the parts are still there", async () => {
  const there = await half();
  await browser.pass(20 * 3_600_000);
  const sent = browser.server.times("PUT", part);
  const page = await browser.open();
  await page.engine.add([file("trip/film.mov", 80 * MiB)], "/photos");
  await browser.until(() => page.idle);
  expect(page.states).toEqual({ "trip/film.mov": "done" });
  expect(browser.server.sessions).toHaveLength(2);
  expect(browser.server.times("PUT", part) - sent).toBe(10 - there);
});

test("one tab does not take what another is at", async () => {
  const first = await browser.open();
  await first.engine.add([file("film.mov", 80 * MiB)], "/photos");
  await browser.pass(100);
  const second = await browser.open();
  await browser.pass(500);
  expect(second.items).toEqual([]);
  await browser.until(() => first.idle);
  expect(browser.server.sessions).toHaveLength(1);
  expect(browser.server.times("PUT", part)).toBe(10);
});

test("what a tab that was killed has left is taken up when its lease has run out", async () => {
  await half(true);
  const page = await browser.open();
  await browser.pass(60_000);
  expect(page.items).toEqual([]);
  await browser.pass(180_000);
  expect(page.states).toEqual({ "trip/film.mov": "needs-file" });
});

test("two tabs that open at once do not get the same", async () => {
  await half();
  const [first, second] = [await browser.open(), await browser.open()];
  await browser.pass(1000);
  expect(first.items.length + second.items.length).toBe(1);
});

test("other people's uploads are none of mine", async () => {
  await half();
  const other = await browser.open("wu");
  await browser.pass(1000);
  expect(other.items).toEqual([]);
  browser.close(other);
  expect((await browser.open("lin")).items).toHaveLength(1);
});

test("what is paused stays so over a reload, and what is done or cancelled is forgotten", async () => {
  const page = await browser.open();
  await page.engine.add([file("a.png", 1), file("b.png", 2), file("c.png", 3)], "/photos");
  page.engine.pauseAll();
  const [a, b, c] = page.items;
  page.engine.pause(a!);
  page.engine.cancel([b!]);
  page.engine.resumeAll();
  page.engine.pause(a!);
  await browser.until(() => c!.state === "done");
  await browser.pass(500);
  browser.close(page);
  const next = await browser.open();
  await browser.pass(1000);
  expect(next.states).toEqual({ "a.png": "needs-file" });
});

test("dropping the same folder again does not upload anything twice", async () => {
  const page = await browser.open();
  const tree = () => Array.from({ length: 30 }, (_, n) => file(`trip/${n}.png`, 10));
  await page.engine.add(tree(), "/photos");
  await browser.pass(300);
  await page.engine.add(tree(), "/photos");
  await browser.until(() => page.idle);
  const done = page.items.filter((item) => item.state === "done").length;
  expect(done).toBe(30);
  expect(browser.server.files.size).toBe(30);
});

test("what was cancelled stays so, although the page is closed before its items are removed", async () => {
  const page = await browser.open();
  const names = Array.from({ length: 30 }, (_, i) => file(`trip/${i}.jpg`, 80 * MiB));
  await page.engine.add(names, "/photos");
  await page.engine.add([file("other.mov", 80 * MiB)], "/films");
  await browser.until(() => browser.server.sessions.length > 0);
  const { Store } = await import("../src/lib/upload/store");
  vi.spyOn(Store.prototype, "remove").mockResolvedValue(undefined); // its transaction is undone
  page.engine.cancelAll((item) => item.batch.path === "/photos");
  browser.close(page);

  const next = await browser.open();
  await browser.pass(1000);
  expect(next.states).toEqual({ "other.mov": "needs-file" });
  browser.close(next);
  expect((await browser.open()).states).toEqual({ "other.mov": "needs-file" });
});

test("a batch of which one file was cancelled goes on with the others", async () => {
  const page = await browser.open();
  await page.engine.add([file("trip/a.jpg", 80 * MiB), file("trip/b.jpg", 80 * MiB)], "/photos");
  await browser.until(() => browser.server.sessions.length > 0);
  page.engine.cancelAll((item) => item.name === "a.jpg");
  browser.close(page);
  expect((await browser.open()).states).toEqual({ "trip/b.jpg": "needs-file" });
});
