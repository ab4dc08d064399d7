/** Uploads of received files: they go on without the user, and leave nothing in the browser. */
import { IDBKeyRange, IDBObjectStore } from "fake-indexeddb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepReceived, receivedFiles, sweepReceived } from "../src/lib/received";
import { Browser, mtime, type Page } from "./uploadpage";

let browser: Browser;
let delivery: string;

const a = new File(["a"], "a.png", { lastModified: mtime });
const b = new File(["bb"], "b.png", { lastModified: mtime });
const day = 24 * 3_600_000;

/** Another app sends files. Resolves to the id of the delivery. */
const deliver = async (files: File[]) => new URLSearchParams(await keepReceived(files)).get("delivery")!;
/** The names of the files of a delivery that the browser still keeps. */
const kept = async (of = delivery) => (await receivedFiles(of)).map(({ relPath }) => relPath);

/** Uploads the delivery from a page, before a network that takes no byte. */
async function stuck(): Promise<Page> {
  browser.server.fault = (method) => (method === "PUT" ? "hang" : undefined);
  const page = await browser.open();
  await page.engine.add(await receivedFiles(delivery), "/photos");
  await browser.until(() => browser.server.sessions.length === 2);
  await browser.pass(100);
  return page;
}

/** Closes the page and repairs the network. */
function leave(page: Page, killed = false): void {
  browser.close(page, killed);
  browser.server.fault = () => undefined;
}

async function ends(page: Page): Promise<void> {
  await browser.until(() => page.items.length === 2 && page.items.every(({ state }) => state === "done"));
  await browser.pass(100);
  expect(Object.fromEntries(browser.server.files)).toEqual({ "/photos/a.png": 1, "/photos/b.png": 2 });
  expect(await kept()).toEqual([]);
}

beforeEach(async () => {
  browser = new Browser();
  vi.stubGlobal("IDBKeyRange", IDBKeyRange);
  delivery = await deliver([a, b]);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("an uploaded file is removed at once", async () => {
  browser.server.fault = (method, path) => (method === "PUT" && path.endsWith("s2") ? "hang" : undefined);
  const page = await browser.open();
  await page.engine.add(await receivedFiles(delivery), "/photos");
  await browser.until(() => page.done.length === 1);
  await browser.pass(100);
  expect(await kept()).toEqual(["b.png"]);
});

test("an upload goes on after a reload", async () => {
  leave(await stuck());
  await ends(await browser.open());
});

test("an upload of a killed page goes on in an open one when the lease has ended", async () => {
  leave(await stuck(), true);
  const page = await browser.open();
  await browser.pass(60_000);
  expect(page.items).toEqual([]);
  expect(await kept()).toEqual(["a.png", "b.png"]);
  await ends(page);
});

test("a paused upload stays paused after reloads, until the user resumes it", async () => {
  const page = await stuck();
  page.engine.pause(page.items[1]!);
  await browser.pass(100);
  leave(page);
  const second = await browser.open();
  await browser.until(() => second.done.length === 1);
  await browser.pass(5000);
  expect(second.states).toEqual({ "a.png": "done", "b.png": "paused" });
  leave(second);
  const third = await browser.open();
  await browser.pass(5000);
  expect(third.states).toEqual({ "b.png": "paused" });
  expect(await kept()).toEqual(["b.png"]);
  third.engine.resume(third.items[0]!);
  await browser.until(() => third.done.length === 1);
  await browser.pass(100);
  expect(await kept()).toEqual([]);
});

test("a pause of all uploads holds after a reload", async () => {
  const page = await stuck();
  page.engine.pauseAll();
  await browser.pass(100);
  leave(page);
  const next = await browser.open();
  await browser.pass(5000);
  expect(next.states).toEqual({ "a.png": "paused", "b.png": "paused" });
  next.engine.resumeAll();
  await ends(next);
});

test("a pause of all uploads also holds for a failed one", async () => {
  const page = await stuck();
  page.items[0]!.state = "error";
  page.engine.pauseAll();
  await browser.pass(100);
  leave(page);
  const next = await browser.open();
  await browser.pass(5000);
  expect(next.states).toEqual({ "a.png": "paused", "b.png": "paused" });
});

test("uploads that were resumed go on after a reload", async () => {
  const page = await stuck();
  page.engine.pauseAll();
  await browser.pass(100);
  page.engine.resumeAll();
  await browser.until(() => browser.server.times("PUT", /\/raw\//) === 4);
  leave(page);
  await ends(await browser.open());
});

test("the file of a cancelled upload is removed at once", async () => {
  const page = await stuck();
  page.engine.cancel([page.items[0]!]);
  await browser.pass(100);
  expect(await kept()).toEqual(["b.png"]);
  page.engine.cancelAll();
  await browser.pass(100);
  expect(await kept()).toEqual([]);
});

test("the file of an upload that is cancelled after a reload is removed at once", async () => {
  const page = await stuck();
  page.engine.pauseAll();
  await browser.pass(100);
  leave(page);
  const next = await browser.open();
  next.engine.cancelAll();
  await browser.pass(100);
  expect(await kept()).toEqual([]);
  browser.close(next);
  expect((await browser.open()).items).toEqual([]);
});

test("cancelled files are removed at the next start if the page is closed too soon", async () => {
  const page = await stuck();
  const { Store } = await import("../src/lib/upload/store");
  vi.spyOn(Store.prototype, "remove").mockResolvedValue(undefined); // its transactions are undone
  page.engine.cancelAll();
  await browser.pass(100);
  expect(await kept()).toEqual(["a.png", "b.png"]);
  leave(page);
  const next = await browser.open();
  await browser.pass(100);
  expect(next.items).toEqual([]);
  expect(await kept()).toEqual([]);
});

test("an upload that is cancelled while its file is opened does not go on", async () => {
  leave(await stuck(), true);
  const page = await browser.open();
  const get = IDBObjectStore.prototype.get;
  const opened = vi.spyOn(IDBObjectStore.prototype, "get").mockImplementation(function (this: IDBObjectStore, key) {
    page.engine.cancelAll();
    return get.call(this, key);
  });
  await browser.until(() => opened.mock.calls.length > 0);
  await browser.pass(5000);
  expect(page.items).toEqual([]);
  expect(browser.server.files.size).toBe(0);
  expect(await kept()).toEqual([]);
});

test("a file that was sent twice is uploaded once, and no copy of it stays", async () => {
  const page = await stuck();
  const again = await deliver([a]);
  await page.engine.add(await receivedFiles(again), "/photos");
  await browser.pass(100);
  expect(page.items).toHaveLength(2);
  expect(await kept(again)).toEqual([]);
  expect(await kept()).toEqual(["a.png", "b.png"]);
  page.engine.pauseAll();
  page.engine.pause(page.items[0]!);
  const third = await deliver([a]);
  await page.engine.add(await receivedFiles(third), "/photos");
  await browser.pass(100);
  expect(await kept()).toEqual(["b.png"]);
  expect(await kept(third)).toEqual(["a.png"]);
  page.engine.cancelAll();
  await browser.pass(100);
  expect(await kept(third)).toEqual([]);
});

test("after a day, the user must choose the file of a paused upload again", async () => {
  const page = await stuck();
  page.engine.pauseAll();
  await browser.pass(100);
  leave(page);
  await sweepReceived(0, 0, Date.now() + day + 1);
  const next = await browser.open();
  next.engine.resumeAll();
  await browser.pass(5000);
  expect(next.states).toEqual({ "a.png": "needs-file", "b.png": "needs-file" });
  next.engine.rebind([a, b].map((file) => ({ file, relPath: file.name })));
  await ends(next);
});
