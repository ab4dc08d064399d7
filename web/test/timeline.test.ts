import { describe, expect, test } from "vitest";
import { tallest } from "../src/lib/geometry";
import { Timeline, type Month } from "../src/lib/timeline";

const measures = { width: 400, rowHeight: 100, gap: 4, heading: 40 };
const month = (name: string, ...ratios: number[]): Month => ({ month: name, count: ratios.length, ratios });

const two = () => new Timeline([month("2025-07", 2, 2, 2), month("2025-06", 3, 6, 1)], measures);

describe("rows below the headings of their months", () => {
  test("pictures fill the width together, in their proportions", () => {
    const timeline = two();
    expect(timeline.total).toBe(6);
    expect(timeline.rowCount).toBe(5);
    // 396 px are left beside the gap for a ratio of 4
    expect(timeline.row(0)).toEqual({
      number: 0,
      from: 0,
      to: 2,
      section: 0,
      top: 40,
      height: 99,
      boxes: [
        { left: 0, width: 198 },
        { left: 202, width: 198 },
      ],
      heading: { month: 0, top: 0 },
    });
    // the last row of a month has the usual height
    expect(timeline.row(1)).toEqual({
      number: 1,
      from: 2,
      to: 3,
      section: 0,
      top: 143,
      height: 100,
      boxes: [{ left: 0, width: 200 }],
    });
  });

  test("a row ends where its height is nearest to the usual one", () => {
    const timeline = two();
    expect(timeline.months[1]).toEqual({ month: "2025-06", from: 3, to: 6, top: 247, row: 2 });
    // 3 and 6 together would be 44 px high; the first alone is 133, and the second 67
    expect(timeline.row(2)).toMatchObject({ from: 3, to: 4, top: 287, height: 133, heading: { month: 1, top: 247 } });
    expect(timeline.row(3)).toMatchObject({ from: 4, to: 5, top: 424, height: 67, boxes: [{ left: 0, width: 400 }] });
    expect(timeline.row(4)).toMatchObject({ from: 5, to: 6, top: 495, height: 100, boxes: [{ left: 0, width: 100 }] });
    expect(timeline.fullHeight).toBe(599);
  });

  test("a picture whose size is not known is 4 : 3, and a very narrow one is cut", () => {
    const timeline = new Timeline([month("2025-07", 0, 0.1)], measures);
    expect(timeline.row(0).boxes).toEqual([
      { left: 0, width: 133 },
      { left: 137, width: 40 },
    ]);
  });

  test("the row at a height, where a heading belongs to the row below it", () => {
    const timeline = two();
    expect([-10, 0, 39, 142, 143, 246, 247, 286, 287, 424, 9999].map((y) => timeline.rowAt(y))).toEqual([
      0, 0, 0, 0, 1, 1, 2, 2, 2, 3, 4,
    ]);
  });

  test("headings are lines like rows", () => {
    const timeline = two();
    expect(timeline.lines).toBe(7);
    expect([0, 1, 2, 4].map((number) => timeline.line(timeline.row(number)))).toEqual([2, 3, 5, 7]);
  });

  test("arrows lead to the picture whose centre is nearest", () => {
    const timeline = two();
    expect(timeline.step(0, 1, 0)).toBe(1);
    expect(timeline.step(2, 1, 0)).toBe(3);
    expect(timeline.step(1, 0, 1)).toBe(2);
    expect(timeline.step(2, 0, -1)).toBe(0); // the centres are at 100, 99 and 301 px
    expect(timeline.step(5, 0, 1)).toBe(5);
    expect(timeline.step(0, 0, 4)).toBe(5);
    const many = new Timeline([month("2025-07", 1, 1, 1, 1, 2, 2)], measures);
    expect(many.row(0).to).toBe(4);
    expect(many.row(1)).toMatchObject({ from: 4, to: 6 });
    expect([0, 1, 2, 3].map((index) => many.step(index, 0, 1))).toEqual([4, 4, 5, 5]);
  });

  test("a rectangle touches the pictures that it covers", () => {
    const timeline = two();
    expect(timeline.within(0, 50, 0.2, 60)).toEqual([[0, 1]]);
    expect(timeline.within(0.3, 50, 0.6, 150)).toEqual([[0, 3]]);
    expect(timeline.within(0.6, 150, 1, 160)).toEqual([]);
    expect(timeline.within(0, 245, 1, 246)).toEqual([]);
    expect(timeline.within(0.2, 140, 0.9, 300)).toEqual([[2, 4]]);
  });
});

test("an empty timeline has no rows", () => {
  const timeline = new Timeline([], measures);
  expect([timeline.total, timeline.rowCount, timeline.fullHeight, timeline.lines]).toEqual([0, 0, 0, 0]);
});

describe("a hundred thousand pictures", () => {
  const ratios = [1.5, 0.67, 1.33, 0, 0.75, 1.78, 1];
  const months = Array.from({ length: 100 }, (_, nth) => {
    const name = `${2025 - Math.floor(nth / 12)}-${String(12 - (nth % 12)).padStart(2, "0")}`;
    return month(name, ...Array.from({ length: 1000 }, (_, at) => ratios[(at + nth) % 7]!));
  });
  const timeline = new Timeline(months, { width: 1120, rowHeight: 200, gap: 4, heading: 48 });

  test("each is in one row, and each row is below the one before", () => {
    let next = 0;
    let bottom = 0;
    for (let number = 0; number < timeline.rowCount; number++) {
      const { from, to, top, height, boxes } = timeline.row(number);
      expect(from).toBe(next);
      expect(top).toBeGreaterThanOrEqual(bottom);
      expect(boxes).toHaveLength(to - from);
      next = to;
      bottom = top + height;
    }
    expect(next).toBe(100_000);
    for (const index of [0, 12_345, 50_000, 99_999]) {
      const { from, to } = timeline.rowOf(index);
      expect(from <= index && index < to).toBe(true);
    }
  });

  test("all rows but the last of a month end at the right edge, at about the usual height", () => {
    const lasts = new Set(timeline.months.map(({ to }) => to));
    for (let number = 0; number < timeline.rowCount; number++) {
      const { to, height, boxes } = timeline.row(number);
      if (lasts.has(to)) continue;
      const { left, width } = boxes!.at(-1)!;
      expect(left + width).toBe(1120);
      expect(height).toBeGreaterThan(150);
      expect(height).toBeLessThan(260);
    }
  });

  test("a page for them is higher than a browser can show with large pictures only", () => {
    expect(timeline.height).toBe(timeline.fullHeight);
    const large = new Timeline(months, { width: 350, rowHeight: 400, gap: 4, heading: 48 });
    expect(large.height).toBe(tallest);
    const { top } = large.rowOf(70_000);
    expect(large.full(large.scrollTo(top, 844), 844)).toBeCloseTo(top, 3);
  });
});
