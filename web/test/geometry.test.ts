import { describe, expect, test } from "vitest";
import { Geometry, tallest } from "../src/lib/geometry";

const mixed = () =>
  new Geometry(
    [
      { count: 7, columns: 5, rowHeight: 64 },
      { count: 20, columns: 6, rowHeight: 200 },
    ],
    16,
  );

describe("chips above tiles", () => {
  test("rows follow each other, with a gap between the two", () => {
    const geometry = mixed();
    expect(geometry.total).toBe(27);
    expect(geometry.rowCount).toBe(2 + 4);
    expect(geometry.height).toBe(2 * 64 + 16 + 4 * 200);
    expect(geometry.row(1)).toMatchObject({ from: 5, to: 7, top: 64, section: 0 });
    expect(geometry.row(2)).toMatchObject({ from: 7, to: 13, top: 144, section: 1 });
    expect(geometry.row(5)).toMatchObject({ from: 25, to: 27, top: 744 });
    expect(geometry.rowOf(6).number).toBe(1);
    expect(geometry.rowOf(7).number).toBe(2);
    expect(geometry.row(3)).toBe(geometry.row(3));
  });

  test("the row at a height", () => {
    const geometry = mixed();
    expect([-50, 0, 63, 64, 130, 143, 144, 343, 344, 99_999].map((y) => geometry.rowAt(y))).toEqual([
      0, 0, 0, 1, 1, 1, 2, 2, 3, 5,
    ]);
  });

  test("arrows go across rows, and from one kind to the other at the same place", () => {
    const geometry = mixed();
    expect(geometry.step(4, 1, 0)).toBe(5);
    expect(geometry.step(0, -1, 0)).toBe(0);
    expect(geometry.step(26, 1, 0)).toBe(26);
    expect(geometry.step(4, 0, 1)).toBe(6); // the row below is shorter
    expect(geometry.step(5, 0, 1)).toBe(7);
    expect(geometry.step(12, 0, -1)).toBe(6);
    expect(geometry.step(12, 0, 1)).toBe(18);
    expect(geometry.step(24, 0, 1)).toBe(26);
    expect(geometry.step(0, 0, -1)).toBe(0);
    expect(geometry.step(8, 0, 100)).toBe(26);
  });

  test("a rectangle touches what it covers", () => {
    const geometry = mixed();
    expect(geometry.within(0, 0, 0.3, 10)).toEqual([[0, 2]]);
    expect(geometry.within(0, 0, 1, 100)).toEqual([[0, 7]]);
    expect(geometry.within(0.5, 150, 0.6, 360)).toEqual([
      [10, 11],
      [16, 17],
    ]);
    expect(geometry.within(0.9, 70, 1, 130)).toEqual([]);
    expect(geometry.within(1.2, 0, 1.5, 500)).toEqual([]);
  });
});

test("only one kind", () => {
  const geometry = new Geometry(
    [
      { count: 0, columns: 5, rowHeight: 64 },
      { count: 3, columns: 6, rowHeight: 200 },
    ],
    16,
  );
  expect(geometry.height).toBe(200);
  expect(geometry.row(0)).toMatchObject({ from: 0, to: 3, top: 0, section: 1 });
  expect(geometry.step(1, 0, 1)).toBe(1);
});

test("a million rows fit into what a browser can show, and each can be scrolled to", () => {
  const viewport = 900;
  const geometry = new Geometry([{ count: 1_000_000, columns: 1, rowHeight: 44 }], 0);
  expect(geometry.height).toBe(tallest);
  expect(geometry.full(0, viewport)).toBe(0);
  expect(geometry.full(geometry.height - viewport, viewport)).toBeCloseTo(44_000_000 - viewport);
  for (const index of [0, 12_345, 500_000, 999_979]) {
    const { top } = geometry.rowOf(index);
    expect(geometry.full(geometry.scrollTo(top, viewport), viewport)).toBeCloseTo(top, 3);
  }
});
