import { describe, expect, test } from "vitest";
import { arranged, justify } from "../src/lib/justified";

describe("justified rows", () => {
  test("full rows have the whole width, the last one the height that was asked for", () => {
    const rows = justify([1.5, 1.5, 1, 1, 1], 640, 200, 10);
    expect(rows.map(({ from, to }) => [from, to])).toEqual([
      [0, 3],
      [3, 5],
    ]);
    const [first, last] = rows;
    // 640 - 2 gaps of 10 = 620 pixels for ratios of 4 in all
    expect(first!.height).toBe(155);
    expect(first!.widths).toEqual([232, 232, 156]);
    expect(first!.widths.reduce((all, one) => all + one) + 20).toBe(640);
    expect(last).toEqual({ from: 3, to: 5, height: 200, widths: [200, 200] });
  });

  test("a wide picture has a row of its own, no higher than it is", () => {
    expect(justify([3], 300, 200, 4)).toEqual([{ from: 0, to: 1, height: 100, widths: [300] }]);
  });

  test("each picture is in one row, at any width", () => {
    const ratios = Array.from({ length: 57 }, (_, n) => 0.5 + ((n * 37) % 26) / 10);
    for (const width of [288, 358, 1000, 1408]) {
      const rows = justify(ratios, width, 180, 4);
      expect(rows.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, n) => from + n))).toEqual(
        ratios.map((_, n) => n),
      );
      for (const { widths, height } of rows.slice(0, -1)) {
        expect(widths.reduce((all, one) => all + one, 4 * (widths.length - 1))).toBeCloseTo(width);
        expect(height).toBeLessThanOrEqual(180);
      }
    }
  });

  test("nothing is arranged without a width or without pictures", () => {
    expect(justify([1, 1], 0, 200, 4)).toEqual([]);
    expect(justify([], 500, 200, 4)).toEqual([]);
  });

  test("extreme ratios are cut, and an unknown size is a square", () => {
    expect(arranged(4000, 500)).toBe(3);
    expect(arranged(100, 900)).toBe(0.5);
    expect(arranged(300, 200)).toBe(1.5);
    expect(arranged(0, 0)).toBe(1);
  });
});
