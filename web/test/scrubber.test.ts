import { expect, test } from "vitest";
import { Track } from "../src/lib/scrubber";

const months = [
  { month: "2025-07", top: 0 },
  { month: "2025-06", top: 1000 },
  { month: "2023-12", top: 3000 },
];
/** The page can be scrolled by 4100 px. */
const track = new Track(months, 5000, 1000, 100);

test("the ends of the track are those of the page", () => {
  expect(track.at(-100)).toBe(0);
  expect(track.full(0)).toBe(-100);
  expect(track.at(4000)).toBe(1);
  expect(track.full(1)).toBe(4000);
  expect(track.at(9000)).toBe(1);
});

test("the place of a month shows its heading below the toolbar", () => {
  expect(track.ofMonth(0)).toBe(0);
  expect(track.ofMonth(1)).toBeCloseTo(1000 / 4100);
  expect(track.full(track.ofMonth(1))).toBeCloseTo(900);
  expect(track.full(track.ofMonth(2))).toBeCloseTo(2900);
});

test("the month of a place is the one below the toolbar, and the last one at the end", () => {
  expect([0, 0.2, track.ofMonth(1), 0.5, 0.7, track.ofMonth(2), 0.99, 1].map((at) => track.monthAt(at))).toEqual([
    0, 0, 1, 1, 1, 2, 2, 2,
  ]);
  // the last month is shorter than the window
  expect(new Track(months, 3100, 1000, 100).monthAt(0.95)).toBe(1);
  expect(new Track(months, 3100, 1000, 100).monthAt(1)).toBe(2);
});

test("keys lead through months and years", () => {
  const keys = ["ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight", "PageUp", "PageDown", "Home", "End", "Enter"];
  expect(keys.map((key) => track.step(1, key))).toEqual([0, 0, 2, 2, 0, 2, 0, 2, undefined]);
  expect(keys.map((key) => track.step(0, key))).toEqual([0, 0, 1, 1, 0, 2, 0, 2, undefined]);
  expect(keys.map((key) => track.step(2, key))).toEqual([1, 1, 2, 2, 1, 2, 0, 2, undefined]);
});

test("a year leads to the same month, or to the nearest one before it", () => {
  const names = ["2025-07", "2025-01", "2024-08", "2024-06", "2023-07"];
  const years = new Track(
    names.map((month, nth) => ({ month, top: nth * 1000 })),
    9000,
    1000,
    100,
  );
  expect(years.step(0, "PageDown")).toBe(3);
  expect(years.step(4, "PageUp")).toBe(3);
  expect(years.step(3, "PageDown")).toBe(4);
  expect(years.step(3, "PageUp")).toBe(1);
});

test("the years are beside their newest months, and those that are too near are left out", () => {
  expect(track.years(410, 22)).toEqual([
    { year: "2025", at: 0 },
    { year: "2023", at: 3000 / 4100 },
  ]);
  expect(track.years(20, 22)).toEqual([{ year: "2025", at: 0 }]);
});
