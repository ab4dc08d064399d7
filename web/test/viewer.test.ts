import { beforeEach, expect, test, vi } from "vitest";
import { firstFrom, partsOf, placeOf } from "../src/lib/find";
import { keepPosition, positionOf } from "../src/lib/positions";
import { slideAfter } from "../src/lib/slides";
import { buttonsOf, itemsOf, type Tool } from "../src/lib/tools";
import { alike } from "../src/lib/zoom";

const stored = new Map<string, string>();
vi.stubGlobal("localStorage", {
  getItem: (key: string) => stored.get(key) ?? null,
  setItem: (key: string, value: string) => void stored.set(key, value),
});
beforeEach(() => stored.clear());

test("a query is found without regard to case, and its signs are no pattern", () => {
  expect(partsOf("One two ONE", "one", 10)).toEqual([
    [0, 3],
    [8, 11],
  ]);
  expect(partsOf("f(x) = x. And x", "x.", 10)).toEqual([[7, 9]]);
  expect(partsOf("[a-b]{2}", "[a-b]{2}", 10)).toEqual([[0, 8]]);
  expect(partsOf("aaaa", "aa", 10)).toEqual([
    [0, 2],
    [2, 4],
  ]);
  expect(partsOf("İstanbul und Straße", "straße", 10)).toEqual([[13, 19]]);
  expect(partsOf("文字列を探す文字", "文字", 10)).toEqual([
    [0, 2],
    [6, 8],
  ]);
  expect(partsOf("anything", "", 10)).toEqual([]);
  expect(partsOf("x".repeat(100), "x", 10)).toHaveLength(10);
});

test("a place at the border of two texts belongs to the part that it ends or begins", () => {
  const starts = [0, 3, 3, 7]; // "abc", "", "defg", and the rest
  expect(placeOf(starts, 0, false)).toEqual([0, 0]);
  expect(placeOf(starts, 3, false)).toEqual([2, 0]);
  expect(placeOf(starts, 3, true)).toEqual([0, 3]);
  expect(placeOf(starts, 5, true)).toEqual([2, 2]);
  expect(placeOf(starts, 7, true)).toEqual([2, 4]);
  expect(placeOf(starts, 9, false)).toEqual([3, 2]);
});

test("the search goes on where it is, and begins anew at the end", () => {
  const parts = [
    [2, 4],
    [10, 12],
  ] as const;
  expect([0, 2, 3, 10, 11].map((from) => firstFrom(parts, from))).toEqual([0, 0, 1, 1, 0]);
});

test("the position of a video is kept, but not that at its beginning or end", () => {
  keepPosition("film", 65.7, 300);
  keepPosition("short", 4.9, 300);
  keepPosition("seen", 296, 300);
  expect(["film", "short", "seen", "other"].map(positionOf)).toEqual([65, 0, 0, 0]);
  keepPosition("live", 40, Number.NaN); // its length is not known
  expect(positionOf("live")).toBe(40);
  keepPosition("film", 299, 300);
  expect(positionOf("film")).toBe(0);
});

test("the positions of 200 videos are kept, those of the last ones", () => {
  for (let nth = 0; nth < 250; nth++) keepPosition(`film ${nth}`, 10 + nth, 1000);
  expect([0, 49, 50, 249].map((nth) => positionOf(`film ${nth}`))).toEqual([0, 0, 60, 259]);
});

test("damaged positions are ignored", () => {
  for (const text of ["{", "{}", '[["film"]]', '[["film", "x"]]', '[["film", -3]]', "null"]) {
    stored.set("larder.positions", text);
    expect(positionOf("film"), text).toBe(0);
  }
});

test("a slideshow goes from picture to picture, and begins anew after the last one", () => {
  const pictures = [true, false, true, true, false];
  const fits = (index: number) => pictures[index]!;
  expect([0, 1, 2, 3, 4].map((index) => slideAfter(index, 5, fits))).toEqual([2, 2, 3, 0, 0]);
  expect(slideAfter(0, 1, () => true)).toBe(-1);
  expect(slideAfter(2, 5, (index) => index === 2)).toBe(-1);
});

test("in a narrow window, tools move from the bar to the menu, and those that destroy come last", () => {
  const tool = (label: string, place: Tool["place"], more: Partial<Tool> = {}): Tool => ({
    label,
    place,
    icon: "",
    run: () => undefined,
    ...more,
  });
  const tools = [
    tool("info", "bar", { pressed: true }),
    tool("delete", "wide", { danger: true }),
    tool("share", "wide"),
    tool("strip", "menu", { pressed: false }),
  ];
  const labels = (items: ReturnType<typeof itemsOf>) =>
    items.map((item) => (typeof item === "string" ? item : "label" in item ? item.label : ""));
  expect(buttonsOf(tools, false).map(({ label }) => label)).toEqual(["info", "delete", "share"]);
  expect(labels(itemsOf(tools, false))).toEqual(["strip"]);
  expect(itemsOf(tools, false)).toMatchObject([{ label: "strip", checked: false }]);
  expect(buttonsOf(tools, true).map(({ label }) => label)).toEqual(["info"]);
  expect(labels(itemsOf(tools, true))).toEqual(["share", "strip", "-", "delete"]);
});

test("a scaled picture has the shape of the original, and another content does not", () => {
  const size = (width: number, height: number) => ({ width, height });
  expect(alike(size(4032, 3024), size(2048, 1536))).toBe(true);
  expect(alike(size(10000, 100), size(2048, 20))).toBe(true);
  expect(alike(size(4032, 3024), size(1536, 2048))).toBe(false);
  expect(alike(size(4032, 3024), size(2048, 1365))).toBe(false);
});
