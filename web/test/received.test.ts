/** The files of other apps, which the service worker keeps for the page. */
import { IDBFactory, IDBKeyRange, IDBObjectStore } from "fake-indexeddb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  bounds,
  dropDelivery,
  dropReceived,
  keepReceived,
  receivedFile,
  receivedFiles,
  sweepReceived,
  uniqueNames,
} from "../src/lib/received";
import { photoName } from "../src/lib/upload/walk";

const now = Date.UTC(2026, 10, 27, 12);
const hour = 3600_000;

beforeEach(() => {
  vi.stubGlobal("indexedDB", new IDBFactory());
  vi.stubGlobal("IDBKeyRange", IDBKeyRange);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const file = (name: string, content = name) => new File([content], name, { type: "image/png", lastModified: 1000 });

/** Keeps files and returns the id of their delivery. */
async function deliver(files: File[], at = now): Promise<string> {
  const query = new URLSearchParams(await keepReceived(files, at));
  expect([...query.keys()]).toEqual(["delivery"]);
  return query.get("delivery")!;
}

const names = async (...deliveries: string[]) =>
  (await Promise.all(deliveries.map(receivedFiles)))
    .flat()
    .map(({ relPath }) => relPath)
    .sort();

test("files come back in their order, with name, type, time and bytes", async () => {
  const delivery = await deliver([file("b.png", "first"), file("a.png", "second")]);
  const files = await receivedFiles(delivery);
  expect(files.map(({ received }) => received)).toEqual([
    [delivery, 0],
    [delivery, 1],
  ]);
  expect(files.map(({ relPath, file }) => [relPath, file.name, file.type])).toEqual([
    ["b.png", "b.png", "image/png"],
    ["a.png", "a.png", "image/png"],
  ]);
  expect(files.map(({ file }) => file.lastModified)).toEqual([1000, 1000]);
  expect(await Promise.all(files.map(({ file }) => file.text()))).toEqual(["first", "second"]);
  expect((await receivedFile([delivery, 1]))!.relPath).toBe("a.png");
  expect(await receivedFile([delivery, 2])).toBeUndefined();
});

test("a delivery without a file is refused", async () => {
  expect(await keepReceived([])).toBe("problem=nothing");
  expect(await keepReceived([new File([], "")])).toBe("problem=nothing");
  expect(await names(await deliver([new File([], ""), new File([], "empty.txt")]))).toEqual(["empty.txt"]);
});

test("a delivery is bounded in files and bytes, and then nothing of it is kept", async () => {
  const put = vi.spyOn(IDBObjectStore.prototype, "put");
  const files = Array.from({ length: bounds.files + 1 }, (_, n) => file(`${n}.png`));
  expect(await keepReceived(files)).toBe("problem=large");
  const large = file("large.mp4");
  Object.defineProperty(large, "size", { value: bounds.bytes });
  expect(await keepReceived([large, file("a.png")])).toBe("problem=large");
  expect(put).not.toHaveBeenCalled();
  expect(bounds.bytes).toBe(4_294_967_296);
  expect(bounds.files).toBe(500);
});

test("the oldest deliveries give way to a new one", async () => {
  const oldest = await deliver([file("1.png")], now - 3 * hour);
  const older = await deliver([file("2.png"), file("3.png")], now - 2 * hour);
  const old = await deliver([file("4.png")], now - hour);
  const fresh = await deliver(
    Array.from({ length: bounds.files - 1 }, (_, n) => file(`new ${n}.png`)),
    now,
  );
  expect(await names(oldest)).toEqual([]);
  expect(await names(older)).toEqual([]);
  expect(await names(old)).toEqual(["4.png"]);
  expect(await names(fresh)).toHaveLength(499);
});

test("files are removed after a day", async () => {
  const delivery = await deliver([file("a.png")], now);
  await sweepReceived(0, 0, now + 24 * hour);
  expect(await names(delivery)).toEqual(["a.png"]);
  await sweepReceived(0, 0, now + 24 * hour + 1);
  expect(await names(delivery)).toEqual([]);
});

test("some files, or one delivery, are removed", async () => {
  const one = await deliver([file("a.png"), file("b.png"), file("c.png")]);
  const two = await deliver([file("d.png"), file("e.png")]);
  await dropReceived([
    [one, 0],
    [two, 1],
  ]);
  await dropReceived([]);
  expect(await names(one, two)).toEqual(["b.png", "c.png", "d.png"]);
  await dropDelivery(one);
  expect(await names(one, two)).toEqual(["d.png"]);
});

test("a file keeps its name when another of the same name is removed", async () => {
  const delivery = await deliver([file("image.jpg", "first"), file("image.jpg", "second")]);
  expect(await names(delivery)).toEqual(["image (2).jpg", "image.jpg"]);
  await dropReceived([[delivery, 0]]);
  expect(await names(delivery)).toEqual(["image (2).jpg"]);
});

test("each file of a delivery has a name of its own, without folders", () => {
  expect(uniqueNames(["image.jpg", "image.jpg", "image (2).jpg", "image.jpg"])).toEqual([
    "image.jpg",
    "image (2).jpg",
    "image (2) (2).jpg",
    "image (3).jpg",
  ]);
  expect(uniqueNames(["../../etc/passwd", "C:\\a\\b.txt", "", "x/", ".profile", ".profile", " a "])).toEqual([
    "passwd",
    "b.txt",
    "file",
    "file (2)",
    ".profile",
    ".profile (2)",
    "a",
  ]);
});

test("a photo is named by its local time", () => {
  const lastModified = new Date(2026, 10, 7, 4, 5, 9).getTime();
  expect(photoName({ name: "image.jpg", lastModified })).toBe("2026-11-07 04.05.09.jpg");
  expect(photoName({ name: "IMG_1.HEIC", lastModified })).toBe("2026-11-07 04.05.09.HEIC");
  expect(photoName({ name: "image", lastModified })).toBe("2026-11-07 04.05.09.jpg");
});
