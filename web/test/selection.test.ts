import { expect, test } from "vitest";
import { Selection } from "../src/lib/selection.svelte";

test("Shift goes from where the last choice was made, in both directions", () => {
  const selection = new Selection();
  selection.only(10);
  selection.extend(14);
  expect(selection.chosen).toEqual([[10, 15]]);
  selection.extend(8);
  expect(selection.chosen).toEqual([[8, 11]]);
  expect(selection.active).toBe(8);
});

test("Ctrl and Shift add a range to what was chosen", () => {
  const selection = new Selection();
  selection.only(1);
  selection.toggle(5);
  selection.extend(7, true);
  expect(selection.chosen).toEqual([
    [1, 2],
    [5, 8],
  ]);
  selection.extend(4, true);
  expect(selection.chosen).toEqual([
    [1, 2],
    [4, 6],
  ]);
});

test("everything of a long listing is one range, from which one can be taken", () => {
  const selection = new Selection();
  selection.all(1_000_000);
  expect(selection.count).toBe(1_000_000);
  selection.toggle(500_000);
  expect(selection.count).toBe(999_999);
  expect(selection.has(500_000)).toBe(false);
  selection.none();
  expect(selection.count).toBe(0);
  expect(selection.active).toBe(500_000);
});

test("moving chooses nothing", () => {
  const selection = new Selection();
  selection.only(3);
  selection.moveTo(9);
  expect(selection.chosen).toEqual([[3, 4]]);
  selection.extend(5);
  expect(selection.chosen).toEqual([[3, 6]]);
});
