import { beforeEach, expect, test, vi } from "vitest";

// The service: its clock, and the time (ms) for which it knows the past of a folder.
let now = 0;
let known = 0;
/** Something older than the history was deleted for good at this time (ms); 0 for nothing. */
let lost = 0;
/** Times (ms) at which the folder had something that was deleted for good. */
let gaps: { since: number; until: number }[] = [];
/** The clock of one replica is this much behind that of the others, for listings. */
let behind = 0;
let asked: number[] = [];

async function answer(url: string): Promise<Response> {
  const { pathname, searchParams } = new URL(url);
  if (pathname === "/api/public/features") return Response.json({ success: true, data: {}, timestamp: now });
  const at = Number(searchParams.get("at"));
  asked.push(at);
  const timestamp = now - behind;
  const refused = (message: string) =>
    Response.json({ success: false, error: { code: "VALIDATION_ERROR", message }, timestamp }, { status: 400 });
  if (at > timestamp) return refused("The time is in the future.");
  const knownSince = Math.max(timestamp - known, lost);
  if (at < knownSince || gaps.some(({ since, until }) => since <= at && at < until))
    return refused("Larder does not know what was in the folder at that time.");
  const items = [{ id: `id-${at}`, name: "a", type: "file" }];
  const data = { items, pagination: { total: 1 }, knownSince, ...(gaps.length > 0 && { gaps }) };
  return Response.json({ success: true, data, timestamp });
}

vi.stubGlobal("location", new URL("http://larder.test/app/past"));
vi.stubGlobal("history", { state: null, replaceState: () => undefined });
vi.stubGlobal("window", {});
vi.stubGlobal("fetch", answer);
const { Past } = await import("../src/lib/past.svelte");

const minute = 60_000;
const day = 24 * 60 * minute;
const folder = { path: "/home/ann", id: "" };
const shown = (past: InstanceType<typeof Past>) => past.items?.map(({ id }) => id);

beforeEach(() => {
  now = Date.UTC(2026, 0, 31);
  known = 30 * day;
  behind = lost = 0;
  gaps = [];
  asked = [];
});

test.each([
  ["fast", 5 * minute],
  ["slow", -5 * minute],
])("the present is that of the service when the clock of the browser is %s", async (_, wrong) => {
  vi.spyOn(Date, "now").mockReturnValue(now + wrong);
  const past = new Past();
  await past.load({ ...folder, at: undefined });
  vi.restoreAllMocks();
  expect(past.problem).toBeUndefined();
  expect([past.now, past.at, shown(past)]).toEqual([now, now, [`id-${now}`]]);
  expect(asked).toEqual([now]);
});

test("a reload shows what has changed meanwhile", async () => {
  const past = new Past();
  await past.load({ ...folder, at: undefined });
  now += minute;
  await past.load({ ...folder, at: undefined });
  expect(past.at).toBe(now - minute);
  await past.load({ ...folder, at: undefined }, true);
  expect(past.at).toBe(now);
});

test("a replica whose clock is behind shows its present", async () => {
  behind = 300;
  const past = new Past();
  await past.load({ ...folder, at: undefined });
  expect(past.problem).toBeUndefined();
  expect([past.now, past.at]).toEqual([now - 300, now - 300]);
});

test("the earliest time can still be chosen when it has moved on", async () => {
  const past = new Past();
  await past.load({ ...folder, at: undefined });
  const since = now - 30 * day;
  expect(past.since).toBe(since);
  now += minute;
  await past.load({ ...folder, at: since });
  expect(past.problem).toBeUndefined();
  // ten minutes after the bound, so that the next requests find it too
  expect([past.since, past.at]).toEqual([since + minute, since + 11 * minute]);
});

test("a time that was never known stays refused", async () => {
  const past = new Past();
  await past.load({ ...folder, at: now - 31 * day });
  expect(past.problem?.code).toBe("VALIDATION_ERROR");
  expect([past.at, past.since]).toEqual([now - 31 * day, now - 30 * day]);
  await past.load({ ...folder, at: undefined });
  await past.load({ ...folder, at: now - 31 * day });
  expect(past.problem?.code).toBe("VALIDATION_ERROR");
  expect(asked).toHaveLength(4);
});

test("a shorter lifetime of the trash ends in the refusal", async () => {
  const past = new Past();
  await past.load({ ...folder, at: undefined });
  const since = now - 30 * day;
  known = 7 * day;
  await past.load({ ...folder, at: since });
  expect(past.problem?.code).toBe("VALIDATION_ERROR");
  expect(past.items).toBeUndefined();
  expect(past.since).toBe(now - 7 * day);
});

test("after the deletion of something old the page knows the new earliest time", async () => {
  const past = new Past();
  await past.load({ ...folder, at: undefined });
  now += minute;
  lost = now;
  now += minute;
  await past.load({ ...folder, at: now - day });
  expect([past.problem?.code, past.at, past.since]).toEqual(["VALIDATION_ERROR", now - day, lost]);
  await past.load({ ...folder, at: lost });
  expect([past.problem, past.at]).toEqual([undefined, lost]);
});

test.each([true, false])(
  "a time in a gap becomes the end of the gap; the page was loaded before: %s",
  async (before) => {
    const past = new Past();
    if (before) await past.load({ ...folder, at: undefined });
    gaps = [
      { since: now - 3 * day, until: now - 2 * day },
      { since: now - day, until: now - minute },
    ];
    await past.load({ ...folder, at: now - 3 * day });
    expect([past.problem, past.at, past.since]).toEqual([undefined, now - 2 * day, now - 30 * day]);
    expect(past.gaps).toEqual(gaps);
    await past.load({ ...folder, at: now - 3 * day - 1 });
    expect([past.problem, past.at]).toEqual([undefined, now - 3 * day - 1]);
  },
);

test("the gaps of a folder contain their beginnings and not their ends", async () => {
  gaps = [{ since: now - 3 * day, until: now - 2 * day }];
  const past = new Past();
  await past.load({ ...folder, at: undefined });
  const found = [now - 3 * day - 1, now - 3 * day, now - 2 * day - 1, now - 2 * day].map((at) => past.gapAt(at));
  expect(found).toEqual([undefined, gaps[0], gaps[0], undefined]);
});
