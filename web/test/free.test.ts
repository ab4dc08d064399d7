/** Free mode: the remembered fields, keys, the time left, and the queue of uploads. */
import { beforeEach, expect, test, vi } from "vitest";
import { Failure } from "../src/lib/api";
import { initial, read, samePlace, write, type Fields } from "../src/routes/free/fields";
import { itemIn, keyOf, mediaOf, merge, most, prefixOf, type Item } from "../src/routes/free/keys";
import { Listing } from "../src/routes/free/listing.svelte";
import * as requests from "../src/routes/free/requests";
import type { FreeSession } from "../src/routes/free/session.svelte";
import { remaining } from "../src/routes/free/time";
import { Uploads, type Upload } from "../src/routes/free/uploads.svelte";

// before the imports, which need it
vi.hoisted(() => vi.stubGlobal("location", new URL("https://larder.test/app/free")));

const fields: Fields = {
  vendor: "minio",
  type: "store_b",
  endpoint: "https://s3.example.org",
  region: "eu",
  bucket: "photos",
  accessKeyId: "AKIA1",
  hours: 3,
};

test("the fields of a connection are remembered, and nothing else", () => {
  const text = write({ ...fields, secretAccessKey: "very secret" } as Fields);
  expect(text).not.toContain("secret");
  expect(read(text)).toEqual(fields);
});

test("values that the form cannot have are replaced", () => {
  for (const text of [null, "", "no JSON", "null", "[]", '{"vendor":"disk"}', '{"vendor":7}'])
    expect(read(text), String(text)).toEqual(initial());
  expect(read('{"vendor":"oss","type":"store_a","hours":9,"bucket":{}}')).toEqual({
    ...initial(),
    vendor: "oss",
    type: "store_c",
    endpoint: "https://s3.oss-cn-hangzhou.aliyuncs.com",
    region: "cn-hangzhou",
  });
});

test("a bucket is the same if endpoint and name are", () => {
  expect(samePlace(fields, { ...fields, accessKeyId: "AKIA2", hours: 1 })).toBe(true);
  expect(samePlace(fields, { ...fields, bucket: "papers" })).toBe(false);
  expect(samePlace(fields, { ...fields, endpoint: "https://s3.example.com" })).toBe(false);
});

test("keys are formed as the server forms them", () => {
  expect(["/", "", "/a/b", "//a/"].map(prefixOf)).toEqual(["", "", "a/b/", "a/"]);
  expect(keyOf("/a", "e\u0301.txt ")).toBe("a/\u00e9.txt");
});

const file = (key: string, size = 1): Item => itemIn("/", key, size)!;

test("an uploaded object is shown in its folder, or as the folder that contains it", () => {
  expect(itemIn("/a", "a/x.png", 5)).toMatchObject({ key: "a/x.png", name: "x.png", type: "file", size: 5 });
  expect(itemIn("/a", "a/b/c/x.png", 5)).toMatchObject({ key: "a/b/", name: "b", type: "folder", size: 0 });
  expect(itemIn("/a", "ab/x.png", 5)).toBeUndefined();
});

test("folders come first, and each key is listed once", () => {
  const all = merge([file("b"), file("z/x")], [file("a"), file("b", 9)]);
  expect(all.map(({ key, size }) => `${key} ${size}`)).toEqual(["z/ 0", "a 1", "b 9"]);
});

test("names tell the icons of pictures, video and sound", () => {
  expect(["a.JPG", "b.mkv", "c.flac", "d.txt", "png"].map(mediaOf)).toEqual([
    "image/jpg",
    "video/mkv",
    "audio/flac",
    undefined,
    undefined,
  ]);
});

/** A listing whose pages come when the test answers, with the names of the items that it shows. */
function listingOf(path: string) {
  const answers: ((names: string[], cursor?: string | null) => void)[] = [];
  vi.spyOn(requests, "list").mockImplementation(
    () =>
      new Promise((resolve) =>
        answers.push((names, cursor = null) =>
          resolve({
            items: names.map((name) => ({ key: `trip/${name}`, name, path, type: "file", size: 1, etag: "" })),
            cursor,
            hidden: 0,
          } as unknown as Awaited<ReturnType<typeof requests.list>>),
        ),
      ),
  );
  const listing = new Listing({} as FreeSession, path);
  return { listing, answers, names: () => listing.items?.map(({ name }) => name) };
}

test("an object that was uploaded while a page was loading is shown", async () => {
  const { listing, answers, names } = listingOf("/trip");
  listing.put("trip/new.txt", 5);
  listing.put("elsewhere/other.txt", 5);
  answers[0]!(["old.txt"], "next");
  await vi.waitFor(() => expect(names()).toEqual(["new.txt", "old.txt"]));

  const more = listing.more();
  listing.put("trip/later.txt", 5);
  listing.put("trip/gone.txt", 5);
  listing.remove("trip/gone.txt");
  answers[1]!(["z.txt"]);
  await more;
  expect(names()).toEqual(["later.txt", "new.txt", "old.txt", "z.txt"]);
});

test("the time left is rounded up, and warns in the last five minutes", () => {
  const minute = 60_000;
  expect(remaining(60 * minute)).toMatchObject({ hours: 1, minutes: 0, soon: false, over: false });
  expect(remaining(119 * minute - 500)).toMatchObject({ hours: 1, minutes: 59 });
  expect(remaining(5 * minute + 1)).toMatchObject({ soon: false, minutes: 6 });
  expect(remaining(5 * minute)).toMatchObject({ soon: true, clock: "5:00" });
  expect(remaining(1)).toMatchObject({ over: false, clock: "0:01" });
  expect(remaining(-5)).toMatchObject({ over: true, clock: "0:00" });
});

/** A queue whose requests the test settles. */
function queue(present: readonly string[] = []) {
  const sends: { key: string; settle: (failure?: unknown) => void }[] = [];
  const uploads = new Uploads({
    exists: (key) => Promise.resolve(key.startsWith("?") ? undefined : present.includes(key)),
    send: ({ key, stopped }: Upload) =>
      new Promise((resolve, reject) => {
        stopped.signal.addEventListener("abort", () => reject(stopped.signal.reason as Error));
        sends.push({ key, settle: (failure) => (failure ? reject(failure) : resolve({ key, size: 1 })) });
      }),
    done: () => {},
  });
  const add = (...names: string[]) =>
    uploads.add(
      names.map((relPath) => ({ file: new File(["x"], relPath), relPath })),
      "/",
    );
  const states = () => uploads.all.map(({ key, state }) => `${key} ${state}`);
  return { uploads, sends, add, states };
}
const settled = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
});

test("two uploads run at a time, in the folders of their paths", async () => {
  const { uploads, sends, add, states } = queue();
  add("a", "trip/b", "c");
  await settled();
  expect(states()).toEqual(["a sending", "trip/b sending", "c waiting"]);
  expect(uploads.open).toBe(3);
  sends[0]!.settle();
  await settled();
  expect(states()).toEqual(["a done", "trip/b sending", "c sending"]);
  uploads.tidy();
  expect(states()).toEqual(["trip/b sending", "c sending"]);
});

test("an object that exists is replaced only after the question", async () => {
  const { uploads, sends, add, states } = queue(["a"]);
  add("a", "?b", "c");
  await settled();
  expect(states()).toEqual(["a asking", "?b asking", "c sending"]);
  expect(uploads.all.map(({ unsure }) => unsure)).toEqual([false, true, false]);
  uploads.replace(uploads.all[0]!);
  uploads.remove(uploads.all[1]!);
  await settled();
  expect(sends.map(({ key }) => key)).toEqual(["c", "a"]);
});

test("a second file with the same key waits for the first", async () => {
  const { sends, add, states } = queue();
  add("a", "a", "b");
  await settled();
  expect(states()).toEqual(["a sending", "a waiting", "b sending"]);
  sends[0]!.settle();
  await settled();
  expect(states()[1]).toBe("a sending");
});

test("a file over 1 GB is refused before it is sent", async () => {
  const { uploads, sends } = queue();
  const large = new File(["x"], "large");
  Object.defineProperty(large, "size", { value: most + 1 });
  uploads.add([{ file: large, relPath: "large" }], "/");
  await settled();
  expect(uploads.all[0]).toMatchObject({ state: "failed", tooLarge: true, failure: { code: "PAYLOAD_TOO_LARGE" } });
  expect(sends).toEqual([]);
});

test("the limit of transfers delays an upload, other failures end it", async () => {
  const { uploads, sends, add, states } = queue();
  add("a", "b");
  await settled();
  sends[0]!.settle(new Failure("RATE_LIMIT_EXCEEDED", "", 429, 10_000));
  sends[1]!.settle(new Failure("FORBIDDEN", "", 403));
  await settled();
  expect(states()).toEqual(["a held", "b failed"]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(states()).toEqual(["a sending", "b failed"]);
  uploads.again(uploads.all[1]!);
  await settled();
  expect(states()).toEqual(["a sending", "b sending"]);
});

test("the end of the session stops uploads, and the next one continues them", async () => {
  const { uploads, sends, add, states } = queue();
  add("a", "b", "c");
  await settled();
  sends[1]!.settle(new Failure("UNAUTHORIZED", "", 401));
  uploads.halt();
  await settled();
  expect(states()).toEqual(["a ended", "b ended", "c ended"]);
  expect(uploads.ended).toBe(3);
  uploads.resume();
  await settled();
  expect(states()).toEqual(["a sending", "b sending", "c waiting"]);
});

test("a cancelled upload makes room for the next", async () => {
  const { uploads, add, states } = queue();
  add("a", "b", "c");
  await settled();
  uploads.remove(uploads.all[0]!);
  await settled();
  expect(states()).toEqual(["b sending", "c sending"]);
});
