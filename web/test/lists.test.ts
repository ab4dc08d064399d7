import { beforeEach, expect, test, vi } from "vitest";

vi.stubGlobal("location", new URL("https://larder.test/app/trash"));
vi.stubGlobal("history", { state: null, replaceState: () => undefined });
vi.stubGlobal("window", {});
const listeners = new Set<() => void>();
const page = {
  documentElement: {},
  hidden: false,
  addEventListener: (_: string, listener: () => void) => listeners.add(listener),
  removeEventListener: (_: string, listener: () => void) => listeners.delete(listener),
};
vi.stubGlobal("document", page);

/** The items of the trash on the server, in pages of 100. */
let trashed: string[] = [];
let down = false;
let asked = 0;
vi.stubGlobal("fetch", async (url: string, how: RequestInit) => {
  asked++;
  if (down) throw new TypeError("network");
  const { searchParams } = new URL(new Request(new URL(url, location.href), how).url);
  const from = Number(searchParams.get("cursor") ?? 0);
  const items = trashed.slice(from, from + 100).map((id) => ({ id }));
  const nextCursor = from + 100 < trashed.length ? String(from + 100) : null;
  const data = { items, nextCursor, keptStorage: trashed.length, maxKept: -1 };
  return Response.json({ success: true, data, timestamp: 0 });
});

const { Loaded } = await import("../src/lib/loaded.svelte");
const { PagedList } = await import("../src/lib/pagedList.svelte");
const { onSeenAgain } = await import("../src/lib/seenAgain");
const { Trash } = await import("../src/lib/trash.svelte");

beforeEach(() => {
  down = false;
  asked = 0;
});

test("onSeenAgain calls its function when the tab becomes visible, until the caller ends it", () => {
  let seen = 0;
  const end = onSeenAgain(() => seen++);
  page.hidden = true;
  for (const listener of listeners) listener();
  expect(seen).toBe(0);
  page.hidden = false;
  for (const listener of listeners) listener();
  expect(seen).toBe(1);
  end();
  expect(listeners.size).toBe(0);
});

test("a refresh of loaded data replaces them; a failed refresh, or one during a load, changes nothing", async () => {
  let data = ["a"];
  let requests = 0;
  const loaded = new Loaded<string[]>(async () => {
    requests++;
    if (down) throw new TypeError("network");
    return data;
  });
  await loaded.refresh(); // the first load is under way
  await vi.waitFor(() => expect(loaded.data).toEqual(["a"]));
  expect(requests).toBe(1);
  data = ["b"];
  await loaded.refresh();
  expect([loaded.data, requests]).toEqual([["b"], 2]);
  down = true;
  await loaded.refresh();
  expect([loaded.data, loaded.problem]).toEqual([["b"], ""]);
  await loaded.load();
  expect(loaded.problem).not.toBe("");
  down = false;
  await loaded.refresh(); // the page shows the failure and a button to repeat it
  expect([loaded.data, requests]).toEqual([["b"], 4]);
  const load = loaded.load();
  await loaded.refresh();
  await load;
  expect(requests).toBe(5);
});

test("data show the answer of the latest request", async () => {
  const answers: ((data: string) => void)[] = [];
  const loaded = new Loaded<string>(() => new Promise((resolve) => answers.push(resolve)));
  const again = loaded.load();
  answers[1]!("later");
  await again;
  answers[0]!("earlier");
  await Promise.resolve();
  expect(loaded.data).toBe("later");
});

test("a refresh replaces the rows and never sets busy; a failed refresh keeps the rows", async () => {
  let rows = ["a", "b"];
  const list = new PagedList<string>(20, async () => {
    if (down) throw new TypeError("network");
    return { items: rows, pagination: { total: rows.length } };
  });
  await list.load();
  rows = ["b"];
  const refreshed = list.refresh();
  expect(list.busy).toBe(false);
  await refreshed;
  expect([list.rows, list.total]).toEqual([["b"], 1]);
  down = true;
  await list.refresh();
  expect([list.rows, list.problem]).toEqual([["b"], ""]);
});

test("refresh sends no request while the list loads, or after the list could not be loaded", async () => {
  let requests = 0;
  let settle!: (answer: { items: string[]; pagination: { total: number } }) => void;
  const list = new PagedList<string>(20, () => {
    requests++;
    return down ? Promise.reject(new TypeError("network")) : new Promise((resolve) => (settle = resolve));
  });
  const loaded = list.load();
  await list.refresh();
  expect(requests).toBe(1);
  settle({ items: ["a"], pagination: { total: 1 } });
  await loaded;
  down = true;
  await list.load();
  expect(list.problem).not.toBe("");
  await list.refresh();
  expect(requests).toBe(2);
});

test("a refresh of the trash loads as many items as the page shows", async () => {
  trashed = Array.from({ length: 250 }, (_, n) => `${n}`);
  const trash = new Trash(() => "");
  await trash.load();
  await trash.next();
  expect(trash.items).toHaveLength(200);
  trashed = trashed.slice(1);
  asked = 0;
  await trash.refresh();
  expect([trash.items!.length, trash.items![0]!.id, trash.more, trash.kept, asked]).toEqual([200, "1", true, 249, 2]);
  await trash.next();
  expect([trash.items!.length, trash.more]).toEqual([249, false]);

  down = true;
  await trash.refresh();
  expect([trash.items!.length, trash.problem]).toEqual([249, ""]);
  down = false;
  trashed = trashed.slice(0, 3);
  await trash.refresh();
  expect([trash.items!.length, trash.more]).toEqual([3, false]);
});
