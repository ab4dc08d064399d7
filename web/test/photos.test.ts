/** The timeline as a source: its requests, and its behaviour when the pictures change. */
import { beforeEach, expect, test, vi } from "vitest";
import type { Reader } from "../src/lib/source/source";

interface File {
  id: string;
  time: number;
  kind: string;
  /** The time that the entry has, where the timeline does not know it yet. */
  stated?: number;
}
// The pictures of the server, the newest first.
let files: File[] = [];
let asked: string[] = [];
let broken = false;
let held: Promise<void> | undefined;

/** Files of a month, one a minute before the other. */
function filesOf(month: string, count: number, kind = "image"): File[] {
  const last = Date.parse(`${month}-28T12:00:00Z`);
  return Array.from({ length: count }, (_, nth) => ({ id: `${month} ${nth}`, time: last - nth * 60_000, kind }));
}
const monthOf = ({ time }: File) => new Date(time).toISOString().slice(0, 7);

const entry = ({ id, time, kind, stated }: File) => ({
  id,
  name: `${id}.jpg`,
  path: "/home/mia",
  type: "file",
  mimeType: `${kind}/x`,
  createdAt: 0,
  takenAt: stated ?? time,
});

function timeline(all: File[]) {
  const months = new Map<string, number>();
  for (const file of all) months.set(monthOf(file), (months.get(monthOf(file)) ?? 0) + 1);
  return {
    months: [...months].map(([month, count]) => ({ month, count, ratios: Array(count).fill(1.5) as number[] })),
  };
}

function page(all: File[], query: URLSearchParams) {
  const [month, cursor, limit] = [query.get("month"), query.get("cursor"), Number(query.get("limit") ?? 200)];
  const rest = all
    .slice(cursor ? all.findIndex(({ id }) => id === cursor.slice(6)) + 1 : 0)
    .filter((file) => !month || monthOf(file) === month);
  const from = Number(query.get("offset") ?? 0);
  const items = rest.slice(from, from + limit).map(entry);
  return { items, cursor: rest.length > from + limit ? `after ${items.at(-1)!.id}` : null };
}

async function answer(url: string): Promise<Response> {
  const { pathname, searchParams } = new URL(url);
  asked.push(`${pathname.split("/").at(-1)} ${searchParams}`.trim());
  await held;
  if (broken) throw new TypeError("no network");
  const all = files.filter(({ kind }) => kind === (searchParams.get("kind") ?? kind));
  const data = pathname.endsWith("/timeline") ? timeline(all) : page(all, searchParams);
  return Response.json({ success: true, data, timestamp: 0 });
}

vi.stubGlobal("location", new URL("http://larder.test/app/photos"));
vi.stubGlobal("history", { state: null, replaceState: () => undefined });
vi.stubGlobal("window", {});
vi.stubGlobal("fetch", answer);
const { Listing } = await import("../src/lib/listing.svelte");
const { photos } = await import("../src/lib/source/photos");

const { signal } = new AbortController();
const idsOf = async (reader: Reader, nth: number, limit = 200) =>
  (await reader.page("file", nth, limit, signal)).items.map(({ id }) => id);
const wanted = (from: number, to: number) => files.slice(from, to).map(({ id }) => id);
/** The queries since the last call. */
const queries = () => asked.splice(0).map((line) => line.replaceAll("+", " "));

beforeEach(() => {
  files = [
    ...filesOf("2025-07", 3000),
    ...filesOf("2025-06", 500),
    ...Array.from({ length: 40 }, (_, nth) => {
      const month = 2024 * 12 + 11 - nth;
      return filesOf(`${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, "0")}`, 5);
    }).flat(),
  ];
  asked = [];
  broken = false;
  held = undefined;
});

test("the months and the newest pictures are asked for at once", async () => {
  const reader = photos.read({ path: "photos", search: "" });
  let release!: () => void;
  held = new Promise((resolve) => (release = resolve));
  const first = reader.page("file", 0, 200, signal);
  await vi.waitFor(() => expect(asked).toEqual(["timeline", "entries limit=200"]));
  release();
  const { items, total, months, changed } = await first;
  expect(items.map(({ id }) => id)).toEqual(wanted(0, 200));
  expect(total).toBe(3700);
  expect(months!.slice(0, 2).map(({ month, count }) => [month, count])).toEqual([
    ["2025-07", 3000],
    ["2025-06", 500],
  ]);
  expect(months).toHaveLength(42);
  expect(changed).toBe(false);
});

test("pages that follow each other are read by cursors, over the ends of months", async () => {
  const reader = photos.read({ path: "photos", search: "" });
  for (let nth = 0; nth < 19; nth++) expect(await idsOf(reader, nth)).toEqual(wanted(nth * 200, nth * 200 + 200));
  const sent = queries();
  expect(sent).toHaveLength(20);
  expect(sent.slice(1, 4)).toEqual([
    "entries limit=200",
    "entries cursor=after 2025-07 199&limit=200",
    "entries cursor=after 2025-07 399&limit=200",
  ]);
  expect(sent.at(-1)).toBe("entries cursor=after 2023-05 4&limit=100");
});

test("a page far away begins in its month", async () => {
  const reader = photos.read({ path: "photos", search: "" });
  await idsOf(reader, 0);
  queries();
  expect(await idsOf(reader, 15)).toEqual(wanted(3000, 3200));
  expect(queries()).toEqual(["entries month=2025-06&limit=200"]);
  // the page before it is at the end of a long month
  expect(await idsOf(reader, 14)).toEqual(wanted(2800, 3000));
  expect(queries()).toEqual(["entries month=2025-07&offset=2800&limit=200"]);
  // and from the middle of a month, cursors lead on
  expect(await idsOf(reader, 7)).toEqual(wanted(1400, 1600));
  expect(await idsOf(reader, 8)).toEqual(wanted(1600, 1800));
  expect(queries()).toEqual([
    "entries month=2025-07&offset=1400&limit=200",
    "entries cursor=after 2025-07 1599&limit=200",
  ]);
});

test("months are asked for together", async () => {
  files = Array.from({ length: 36 }, (_, nth) => {
    const month = 2025 * 12 - nth;
    return filesOf(`${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, "0")}`, 900);
  }).flat();
  const reader = photos.read({ path: "photos", search: "" });
  await idsOf(reader, 0);
  queries();
  // the 76th page of 200 is from the 15,000th to the 15,200th picture: the end of one month
  // (14,400 to 15,300); the 77th goes on into the next one
  expect(await idsOf(reader, 76)).toEqual(wanted(15_200, 15_400));
  expect(queries()).toEqual(["entries month=2023-09&offset=800&limit=100", "entries month=2023-08&limit=100"]);
  expect(await idsOf(reader, 75)).toEqual(wanted(15_000, 15_200));
  expect(queries()).toEqual(["entries month=2023-09&offset=600&limit=200"]);
});

test("of many short months, one long answer is read", async () => {
  const reader = photos.read({ path: "photos", search: "" });
  await idsOf(reader, 0);
  await idsOf(reader, 15);
  queries();
  expect(await idsOf(reader, 18)).toEqual(wanted(3600, 3700));
  expect(queries()).toEqual(["entries cursor=after 2025-06 199&limit=1000"]);
});

test("a page that is asked for twice is read once", async () => {
  const reader = photos.read({ path: "photos", search: "" });
  const both = await Promise.all([idsOf(reader, 0), idsOf(reader, 1), idsOf(reader, 1)]);
  expect(both).toEqual([wanted(0, 200), wanted(200, 400), wanted(200, 400)]);
  expect(queries().filter((query) => query.includes("199"))).toHaveLength(1);
});

test("pictures far away are forgotten", async () => {
  files = filesOf("2025-07", 8000);
  const reader = photos.read({ path: "photos", search: "" });
  for (let nth = 0; nth < 6; nth++) await idsOf(reader, nth, 1000);
  queries();
  expect(await idsOf(reader, 5, 1000)).toEqual(wanted(5000, 6000));
  expect(await idsOf(reader, 2, 1000)).toEqual(wanted(2000, 3000));
  expect(queries()).toEqual([]);
  expect(await idsOf(reader, 0, 1000)).toEqual(wanted(0, 1000));
  expect(queries()).toEqual(["entries limit=1000"]);
});

test("pictures or videos alone", async () => {
  files = [...filesOf("2025-07", 3), ...filesOf("2025-06", 2, "video")];
  const reader = photos.read({ path: "photos", search: "", media: "video" });
  expect(await idsOf(reader, 0)).toEqual(["2025-06 0", "2025-06 1"]);
  expect(asked).toEqual(["timeline kind=video", "entries kind=video&limit=200"]);
});

test("the state of a timeline is that of its kind", () => {
  expect(photos.state("photos")).toBe("/api/files/timeline/revision");
  expect(photos.state("photos", "video")).toBe("/api/files/timeline/revision?kind=video");
});

test("without pictures there is nothing to read", async () => {
  files = [];
  const page = await photos.read({ path: "photos", search: "" }).page("file", 0, 200, signal);
  expect(page).toMatchObject({ items: [], total: 0, months: [], changed: false });
});

test.each([
  ["one more in the month", () => files.splice(3100, 0, { id: "new", time: files[3100]!.time + 1, kind: "image" })],
  ["one less in the month", () => files.splice(3100, 1)],
  ["one less than all of a month", () => files.splice(3000, 500)],
])("a listing begins again when the pictures have changed: %s", async (_, change) => {
  const listing = new Listing(photos, { path: "photos", search: "" });
  await listing.ready;
  expect(listing.total).toBe(3700);
  change();
  asked = [];
  listing.look(3000, 3700);
  await vi.waitFor(() => expect(listing.at(listing.total - 1)?.id).toBe(files.at(-1)!.id));
  expect(listing.total).toBe(files.length);
  expect(listing.months[1]!.count).toBe(files.filter((file) => monthOf(file) === listing.months[1]!.month).length);
  const shown = Array.from({ length: listing.total - 3000 }, (_, nth) => listing.at(3000 + nth)?.id);
  expect(shown).toEqual(wanted(3000, listing.total));
  expect(queries().filter((query) => query === "timeline")).toHaveLength(1);
  listing.close();
});

test("pictures that do not fit the timeline are shown nevertheless", async () => {
  files[0]!.stated = Date.parse("2020-01-01");
  const listing = new Listing(photos, { path: "photos", search: "" });
  await listing.ready;
  expect(listing.at(0)?.id).toBe("2025-07 0");
  expect(listing.at(199)?.id).toBe("2025-07 199");
  expect(queries().filter((query) => query === "timeline")).toHaveLength(2);
  listing.close();
});

test("an action on pictures of a changed timeline fails instead of taking others", async () => {
  const listing = new Listing(photos, { path: "photos", search: "" });
  await listing.ready;
  files.splice(3100, 1);
  await expect(listing.collect([[3000, 3500]])).rejects.toMatchObject({ code: "OPERATION_FAILED" });
  listing.close();
});

test("a failure is reported, and the next reader begins anew", async () => {
  broken = true;
  const listing = new Listing(photos, { path: "photos", search: "" });
  await listing.ready;
  expect(listing.failed?.code).toBe("NETWORK");
  broken = false;
  await listing.refresh();
  expect(listing.at(0)?.id).toBe("2025-07 0");
  listing.close();
});
