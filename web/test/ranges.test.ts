import { expect, test } from "vitest";
import { add, count, each, has, of, remove, type Ranges } from "../src/lib/ranges";

test("what touches becomes one range", () => {
  let set: Ranges = [];
  set = add(set, 10, 20);
  set = add(set, 30, 40);
  expect(add(set, 20, 30)).toEqual([[10, 40]]);
  expect(add(set, 0, 5)).toEqual([
    [0, 5],
    [10, 20],
    [30, 40],
  ]);
  expect(add(set, 15, 35)).toEqual([[10, 40]]);
  expect(add(set, 5, 5)).toEqual(set);
});

test("taking away splits a range", () => {
  expect(remove([[0, 1_000_000]], 10, 11)).toEqual([
    [0, 10],
    [11, 1_000_000],
  ]);
  expect(remove([[3, 5]], 0, 10)).toEqual([]);
});

test("membership, count and order are those of a plain set", () => {
  const plain = new Set<number>();
  let set: Ranges = [];
  let seed = 7;
  const next = (below: number) => (seed = (seed * 16807) % 2147483647) % below;
  for (let step = 0; step < 500; step++) {
    const from = next(200);
    const to = from + next(20);
    const adds = next(2) === 0;
    set = adds ? add(set, from, to) : remove(set, from, to);
    for (let index = from; index < to; index++) {
      if (adds) plain.add(index);
      else plain.delete(index);
    }
    expect([...each(set)]).toEqual([...plain].sort((a, b) => a - b));
    expect(count(set)).toBe(plain.size);
    for (let index = 0; index < 220; index += 7) expect(has(set, index)).toBe(plain.has(index));
    expect(of(plain)).toEqual(set);
  }
});
