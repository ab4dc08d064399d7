import { expect, test } from "vitest";
import { localDay, storageSeries } from "../src/routes/admin/dashboard/history";

const store = (providerId: string, usedSpace: number) => ({
  providerId,
  name: `the ${providerId}`,
  usedSpace,
  fileCount: 1,
});
const day = (at: number, use: Record<string, number>) => ({
  at,
  storage: Object.entries(use).map(([providerId, usedSpace]) => ({ providerId, usedSpace, fileCount: 1 })),
});

test("each storage has a series, the fullest first, without figures where a day has none", () => {
  expect(storageSeries([day(0, { a: 1 }), day(1, { a: 2, b: 5 })], [store("a", 2), store("b", 5)], "others")).toEqual([
    { label: "the b", values: [null, 5] },
    { label: "the a", values: [1, 2] },
  ]);
});

test("the smallest of more than three storages, and deleted ones, are summed", () => {
  const four = [store("a", 1), store("b", 2), store("c", 3), store("d", 4)];
  expect(storageSeries([day(0, { a: 1, b: 2, c: 3, d: 4 }), day(1, { c: 3 })], four, "others")).toEqual([
    { label: "the d", values: [4, null] },
    { label: "the c", values: [3, 3] },
    { label: "others", values: [3, null] },
  ]);
  expect(storageSeries([day(0, { a: 1, gone: 8 }), day(1, { a: 1 })], [store("a", 1)], "others")).toEqual([
    { label: "the a", values: [1, 1] },
    { label: "others", values: [8, null] },
  ]);
  expect(storageSeries([day(0, { a: 1, b: 2, c: 3, gone: 8 })], four.slice(0, 3), "others")).toEqual([
    { label: "the c", values: [3] },
    { label: "the b", values: [2] },
    { label: "others", values: [9] },
  ]);
});

test("a day in UTC is the same day for every reader", () => {
  const local = new Date(localDay(Date.UTC(2026, 4, 3)));
  expect([local.getFullYear(), local.getMonth(), local.getDate(), local.getHours()]).toEqual([2026, 4, 3, 0]);
});
