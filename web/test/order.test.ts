import { expect, test } from "vitest";
import { gap, reposition } from "../src/lib/order";

/** What the order is when the changed positions hold. */
function after(positions: (number | null)[], changed: Map<number, number>): number[] {
  return positions
    .map((position, index) => ({ index, position: changed.get(index) ?? position }))
    .sort((a, b) => (a.position ?? Infinity) - (b.position ?? Infinity) || a.index - b.index)
    .map(({ index }) => index);
}

test("between two with room one position changes", () => {
  expect([...reposition([1024, 2048, 3072], 2, 1)]).toEqual([[2, 1536]]);
  expect([...reposition([1024, 2048, 3072], 0, 1)]).toEqual([[0, 2560]]);
});

test("at either end one position changes", () => {
  expect([...reposition([1024, 2048, 3072], 2, 0)]).toEqual([[2, 0]]);
  expect([...reposition([1024, 2048, 3072], 0, 2)]).toEqual([[0, 3072 + gap]]);
  expect([...reposition([null, null, null], 2, 0)]).toEqual([[2, gap]]);
});

test("nothing changes where nothing moves", () => {
  expect(reposition([1, 2, 3], 1, 1).size).toBe(0);
});

test("every move of every row leads to the order that was wanted", () => {
  const rows: (number | null)[][] = [
    [null, null, null, null],
    [5, null, null, null],
    [1, 2, 3, 4],
    [-3, 0, 1, 1024],
    [7, 7, 7, 7],
    [10, 20, null, null],
  ];
  for (const row of rows) {
    for (let from = 0; from < row.length; from++) {
      for (let to = 0; to < row.length; to++) {
        const wanted = row.map((_, index) => index);
        wanted.splice(to, 0, ...wanted.splice(from, 1));
        expect(after(row, reposition(row, from, to)), `${JSON.stringify(row)} ${from} → ${to}`).toEqual(wanted);
      }
    }
  }
});
