/** The search in the address of a folder, the last searches, and what the command list finds. */
import { beforeEach, expect, test, vi } from "vitest";
import { withSearch } from "../src/lib/lastSearches";
import { beginOf } from "../src/lib/localTime";
import { best } from "../src/routes/commands/best";

/** The session history of the page; each entry has a state and an address. */
const page = vi.hoisted(() => {
  const entries: { state: unknown; address: string }[] = [];
  const location = new URL("http://larder.test/app/files/home/lin");
  const to = (state: unknown, address: string) => {
    location.href = new URL(address, location).href;
    entries.push({ state, address: location.pathname + location.search });
  };
  const history = {
    get state() {
      return entries.at(-1)?.state ?? null;
    },
    pushState: (state: unknown, _: string, address: string) => to(state, address),
    replaceState(state: unknown, _: string, address = location.pathname + location.search) {
      entries.pop();
      to(state, address);
    },
    back() {
      entries.pop();
      location.href = new URL(entries.at(-1)!.address, location).href;
    },
  };
  vi.stubGlobal("location", location);
  vi.stubGlobal("history", history);
  return { entries, go: (address: string) => history.replaceState(null, "", address) };
});

const { changeSearch, filterOf, hasSearch, searchOf, shapeOf } = await import("../src/lib/search");
const { go } = await import("../src/lib/router.svelte");

beforeEach(() => {
  page.entries.length = 0;
  page.go("/app/files/home/lin");
  go("/app/files/home/lin", { replace: true });
});

/** The addresses of the session history, without the path. */
const addresses = () => page.entries.map(({ address }) => address.replace("/app/files/home/lin", ""));

test.each([
  ["", ""],
  ["search=lake&in=all&shape=grid&view=1", ""],
  ["kind=document&search=lake&minSize=1048576", "kind=document&minSize=1048576"],
  ["maxSize=8388608&ownerId=u1&kind=", "maxSize=8388608&ownerId=u1"],
  // pictures and videos: the days in UTC, from 1 June to the end of 31 August 2025
  ["kind=image&from=2025-06-01&to=2025-08-31", "kind=image&from=1748736000000&to=1756684800000"],
  ["kind=video&to=2025-08-31", "kind=video&to=1756684800000"],
  // a first day after the last one: the days between them
  ["kind=image&from=2025-08-31&to=2025-06-01", "kind=image&from=1748736000000&to=1756684800000"],
  ["from=yesterday&to=2025-13-01", ""],
])("the filters of ?%s are %s", (query, filter) => {
  expect(filterOf(new URLSearchParams(query))).toBe(filter);
});

test("days of other files begin at midnight in the time zone of the reader", () => {
  const [from, to] = [new Date(2026, 2, 29).getTime(), new Date(2026, 2, 30).getTime()]; // 23 hours in some zones
  expect(filterOf(new URLSearchParams("from=2026-03-29&to=2026-03-29"))).toBe(`from=${from}&to=${to}`);
  expect(beginOf("2026-03-29")).toBe(from);
  expect(beginOf("2026-03-29", 1)).toBe(to);
  expect(beginOf("2026-03-29", 1, "Z")).toBe(Date.UTC(2026, 2, 30));
  expect(beginOf("")).toBeUndefined();
});

test.each([
  ["", "list"],
  ["search=lake", "list"],
  ["kind=image", "grid"],
  ["kind=video&search=lake", "grid"],
  ["kind=document", "list"],
  ["kind=image&shape=list", "list"],
  ["search=lake&shape=grid", "grid"],
  ["search=lake&shape=round", "list"],
])("the results of ?%s are a %s", (query, shape) => {
  expect(shapeOf(new URLSearchParams(query))).toBe(shape);
});

test.each([
  ["", false],
  ["in=all&shape=grid&view=1&kind=", false],
  ["search=lake", true],
  ["ownerId=u1", true],
])("whether ?%s has a search: %s", (query, has) => {
  expect(hasSearch(new URLSearchParams(query))).toBe(has);
});

test("a search is written in one order, without other parts", () => {
  expect(searchOf(new URLSearchParams("kind=image&view=1&search=lake+1&in=all&to="))).toBe(
    "search=lake+1&in=all&kind=image",
  );
});

test("the first part of a search is a step that Back undoes", () => {
  changeSearch({ kind: "image" });
  changeSearch({ search: "lake" });
  expect(addresses()).toEqual(["", "?kind=image&search=lake"]);
  changeSearch({ kind: null }); // the text remains
  expect(addresses()).toEqual(["", "?search=lake"]);
  changeSearch({ search: null });
  expect(addresses()).toEqual([""]);
});

test("a search that the page was opened with ends without leaving the page", () => {
  go("/app/files/home/lin?search=lake&in=all&shape=grid", { replace: true });
  changeSearch({ search: null });
  expect(addresses()).toEqual([""]);
});

test("without a search, nothing changes", () => {
  changeSearch({ search: null });
  expect(addresses()).toEqual([""]);
});

const of = (query: string, path = "/home/lin") => ({ path, query });

test.each<[rule: string, ...queries: string[][]]>([
  ["the newest is first", ["a=1", "search=lake"], ["search=sea"], ["search=sea", "a=1", "search=lake"]],
  ["a repeated one moves up", ["search=sea", "search=lake"], ["search=lake"], ["search=lake", "search=sea"]],
  ["another view is the same search", ["search=sea"], ["search=sea&shape=grid"], ["search=sea&shape=grid"]],
  [
    "other filters are another search",
    ["search=sea&from=1"],
    ["search=sea&to=2"],
    ["search=sea&to=2", "search=sea&from=1"],
  ],
  [
    "filters that were added in steps are one",
    ["search=sea&to=2"],
    ["search=sea&from=1&to=2"],
    ["search=sea&from=1&to=2"],
  ],
  ["a text that was typed in steps is one", ["search=la"], ["search=lake"], ["search=lake"]],
  [
    "only the newest is a step",
    ["search=sea", "search=la"],
    ["search=lake"],
    ["search=lake", "search=sea", "search=la"],
  ],
  ["a shorter text is another search", ["search=lake"], ["search=la"], ["search=la", "search=lake"]],
])("of the last searches, %s", (_, before, [added], after) => {
  expect(
    withSearch(
      before!.map((query) => of(query)),
      of(added!),
    ),
  ).toEqual(after!.map((query) => of(query)));
});

test("the same text in another folder is another search, and in all folders it is one", () => {
  expect(withSearch([of("search=sea", "/a")], of("search=sea", "/b"))).toHaveLength(2);
  expect(withSearch([of("search=sea&in=all", "/a")], of("search=sea&in=all", "/b"))).toEqual([
    of("search=sea&in=all", "/b"),
  ]);
});

test("eight searches are kept", () => {
  const nine = Array.from({ length: 9 }, (_, nth) => of(`search=${9 - nth}x`));
  expect(withSearch(nine, of("search=new"))).toEqual([of("search=new"), ...nine.slice(0, 7)]);
});

test.each([
  ["del", ["Delete", "Delete for good…", "Restore the deleted"]],
  ["good", ["Delete for good…"]],
  ["files", ["My files", "Profiles", "Delete", "Delete for good…"]], // their group is Files, which counts less
  ["GOOD del", ["Delete for good…"]],
  ["lake", []],
])("the options for “%s”, the best first", (text, labels) => {
  const options: [string, string][] = [
    ["Profiles", "Site"],
    ["Restore the deleted", "Trash"],
    ["Delete", "Files"],
    ["Delete for good…", "Files"],
    ["My files", "Go to"],
  ];
  expect(best(options, text, (option) => option, 5).map(([label]) => label)).toEqual(labels);
});

test("a text finds at most as many options as the caller asks for", () => {
  expect(best(["a1", "a2", "a3"], "a", (label) => [label, ""], 2)).toEqual(["a1", "a2"]);
});
