import { beforeEach, expect, test, vi } from "vitest";
import type { Listing } from "../src/lib/listing.svelte";
import type { Wanted } from "../src/lib/source/source";

// A folder as the server tells of it: asked for by kind, page and limit.
let folders: string[] = [];
let files: string[] = [];
let asked: string[] = [];
let held: (() => void)[] | undefined;
let broken = false;
/** The names of the folders for which a picture stands. */
let pictured: string[] = [];

async function answer(url: string): Promise<Response> {
  const query = new URL(url).searchParams;
  const [kind, page, limit] = [query.get("type")!, Number(query.get("page")), Number(query.get("limit"))];
  asked.push(`${kind} ${page} ${limit}`);
  if (held) await new Promise<void>((resolve) => held!.push(resolve));
  if (broken) throw new TypeError("no network");
  const all = kind === "folder" ? folders : files;
  const items = all.slice((page - 1) * limit, page * limit).map((name) => ({
    id: `id-${name}`,
    name,
    path: "/",
    type: kind,
    ...(pictured.includes(name) && { covers: ["p"] }),
  }));
  const mount = { id: "m", name: "m", sortBy: "name", sortOrder: "asc" };
  const data = { items, pagination: { total: all.length, page, limit, pages: 0 }, mount, folder: null };
  return Response.json({ success: true, data, timestamp: 0 });
}

vi.stubGlobal("location", new URL("http://larder.test/app/files"));
vi.stubGlobal("history", { state: null, replaceState: () => undefined });
vi.stubGlobal("window", {});
vi.stubGlobal("fetch", answer);
const { Listing: Made } = await import("../src/lib/listing.svelte");
const { account } = await import("../src/lib/source/account");

const settled = () =>
  vi.waitFor(() => expect(asked.length).toBeGreaterThan(0)).then(() => new Promise((r) => setTimeout(r)));

async function open(wanted: Partial<Wanted> = {}): Promise<Listing> {
  const listing = new Made(account, { path: "/", search: "", ...wanted });
  await vi.waitFor(() => expect(listing.loaded).toBe(true));
  asked = [];
  return listing;
}

beforeEach(() => {
  folders = ["a", "b", "c"];
  files = Array.from({ length: 1000 }, (_, nth) => `f${String(nth).padStart(4, "0")}`);
  asked = [];
  held = undefined;
  pictured = [];
  broken = false;
});

test("folders come before files, and the total is known at once", async () => {
  const listing = await open();
  expect(listing.total).toBe(1003);
  expect([0, 2, 3, 202].map((index) => listing.at(index)?.name)).toEqual(["a", "c", "f0000", "f0199"]);
  expect(listing.at(203)).toBeUndefined();
  expect(listing.indexOf("id-f0005")).toBe(8);
});

test("whether pictures stand for folders is known by their first page", async () => {
  folders = Array.from({ length: 300 }, (_, nth) => `d${String(nth).padStart(3, "0")}`);
  const listing = await open();
  expect(listing.pictured).toBe(false);
  pictured = ["d250"];
  listing.look(250, 260);
  await vi.waitFor(() => expect(listing.at(250)?.covers).toEqual(["p"]));
  expect(listing.pictured).toBe(false);
  pictured = ["d001"];
  listing.look(0, 10);
  await listing.refresh();
  expect(listing.pictured).toBe(true);
});

test("only what is looked at is fetched", async () => {
  const listing = await open();
  listing.look(603, 640);
  await vi.waitFor(() => expect(listing.at(603)?.name).toBe("f0600"));
  listing.look(603, 640);
  await settled();
  expect(asked).toEqual(["file 4 200"]);
});

test("what was looked at on the way is not fetched", async () => {
  const listing = await open();
  held = [];
  for (const index of [250, 450, 650]) listing.look(index, index + 20); // three at once
  listing.look(850, 870);
  const release = held;
  held = undefined;
  release.forEach((go) => go());
  await vi.waitFor(() => expect(listing.at(860)?.name).toBe("f0857"));
  expect(asked).toEqual(["file 2 200", "file 3 200", "file 4 200", "file 5 200"]);
});

test("of refreshes that are asked for during another, one comes after it", async () => {
  const listing = await open();
  held = [];
  const first = listing.refresh();
  const later = [listing.refresh(), listing.refresh(), listing.refresh()];
  await vi.waitFor(() => expect(held).toHaveLength(2));
  files = ["new"];
  const release = held;
  held = undefined;
  release.forEach((go) => go());
  await Promise.all([first, ...later]);
  expect(asked).toEqual(["folder 1 200", "file 1 200", "folder 1 200", "file 1 200"]);
  expect(listing.files).toBe(1);
});

test("all of a choice is fetched in pages of a thousand, and what is loaded not again", async () => {
  const listing = await open();
  const found = await listing.collect([
    [1, 5],
    [1000, 1003],
  ]);
  expect(found.map(({ name }) => name)).toEqual(["b", "c", "f0000", "f0001", "f0997", "f0998", "f0999"]);
  expect(asked).toEqual(["file 1 1000"]);
});

test("asking anew shows what is new, and keeps what is seen until then", async () => {
  const listing = await open();
  files = files.slice(10);
  const asking = listing.refresh();
  expect(listing.at(3)?.name).toBe("f0000");
  await asking;
  expect(listing.at(3)?.name).toBe("f0010");
  expect(listing.total).toBe(993);
});

test("a page that does not come is told of, and comes later", async () => {
  const listing = await open();
  broken = true;
  listing.look(500, 520);
  await vi.waitFor(() => expect(listing.problem?.code).toBe("NETWORK"));
  expect(listing.at(3)?.name).toBe("f0000");
  broken = false;
  await listing.refresh();
  expect(listing.problem).toBeUndefined();
  expect(listing.at(510)?.name).toBe("f0507");
});

test("a name far away is found by halving", async () => {
  const listing = await open();
  expect(await listing.find("b", 0)).toBe(1);
  expect(await listing.find("F07", 0)).toBe(703);
  expect(asked.length).toBeLessThanOrEqual(4);
  expect(await listing.find("zz", 0)).toBe(-1);
});

test("names with numbers are found by value, among folders too", async () => {
  folders = Array.from({ length: 900 }, (_, nth) => `Trip ${nth + 1}`);
  files = Array.from({ length: 1200 }, (_, nth) => `img ${nth + 1}.jpg`);
  const listing = await open();
  expect(await listing.find("img 1000", 0)).toBe(900 + 999);
  expect(await listing.find("trip 750", 0)).toBe(749);
  expect(asked.length).toBeLessThanOrEqual(6);
  expect(await listing.find("img 1201", 0)).toBe(-1);
});

test("a changed entry stays where it is", async () => {
  const listing = await open();
  listing.replace({ ...listing.at(4)!, name: "renamed" });
  expect(listing.at(4)?.name).toBe("renamed");
  expect(asked).toEqual([]);
});
