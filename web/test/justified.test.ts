import { describe, expect, test } from "vitest";
import { arranged, justify, ratioOf } from "../src/lib/justified";

const frame = { width: 640, rowHeight: 200, gap: 10 };

describe("justified rows", () => {
  test("a row ends where its height is nearest to the usual one, and the last row has that height", () => {
    // Three pictures would be 620 / 4 = 155 px high, two are 630 / 3 = 210 px high.
    expect(justify([1.5, 1.5, 1, 1, 1], frame)).toEqual([
      {
        from: 0,
        height: 210,
        boxes: [
          { left: 0, width: 315 },
          { left: 325, width: 315 },
        ],
      },
      {
        from: 2,
        height: 200,
        boxes: [
          { left: 0, width: 200 },
          { left: 210, width: 200 },
          { left: 420, width: 200 },
        ],
      },
    ]);
    // Three pictures are 620 / 3.3 = 188 px high, and two would be 630 / 2.7 = 233 px.
    expect(justify([1.5, 1.2, 0.6], frame)).toEqual([
      {
        from: 0,
        height: 188,
        boxes: [
          { left: 0, width: 282 },
          { left: 292, width: 225 },
          { left: 527, width: 113 },
        ],
      },
    ]);
  });

  test("a wide picture has a row of its own, no higher than it is", () => {
    expect(justify([3], { width: 300, rowHeight: 200, gap: 4 })).toEqual([
      { from: 0, height: 100, boxes: [{ left: 0, width: 300 }] },
    ]);
  });

  test("each picture is in one row, at any width", () => {
    const ratios = Array.from({ length: 57 }, (_, n) => 0.5 + ((n * 37) % 26) / 10);
    for (const width of [288, 358, 1000, 1408]) {
      const rows = justify(ratios, { width, rowHeight: 180, gap: 4 });
      expect(rows.flatMap(({ from, boxes }) => boxes.map((_, n) => from + n))).toEqual(ratios.map((_, n) => n));
      for (const { boxes } of rows.slice(0, -1)) {
        const { left, width: last } = boxes.at(-1)!;
        expect(left + last).toBe(width);
        expect(boxes.reduce((all, one) => all + one.width, 4 * (boxes.length - 1))).toBe(width);
      }
    }
  });

  test("nothing is arranged without a width or without pictures", () => {
    expect(justify([1, 1], { ...frame, width: 0 })).toEqual([]);
    expect(justify([], frame)).toEqual([]);
  });

  test("a ratio is known where the listing states both sides", () => {
    expect(ratioOf({ width: 900, height: 600 })).toBe(1.5);
    expect([{}, { width: 900 }, { height: 600 }, { width: 0, height: 0 }].map(ratioOf)).toEqual([0, 0, 0, 0]);
  });

  test("extreme ratios are cut, and an unknown one is 4 : 3", () => {
    expect(arranged(8.5)).toBe(8);
    expect(arranged(0.1)).toBe(0.4);
    expect(arranged(1.5)).toBe(1.5);
    expect(arranged(0)).toBe(4 / 3);
  });
});
