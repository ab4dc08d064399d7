/** The limits of a quota: how a form shows them, and what it makes of a text. */
import { expect, test } from "vitest";
import { fileLimit, storageLimit, valueOf, type Limit } from "../src/routes/admin/users/limits";

const gigabyte = 1024 ** 3;

test.each([
  [-1, "unlimited", "", "GB"],
  [0, "limit", "0", "GB"],
  [1, "limit", "1", "B"],
  [1023, "limit", "1023", "B"],
  [1024, "limit", "1", "KB"],
  [1536, "limit", "1.5", "KB"],
  [1_000_000_000, "limit", "976562.5", "KB"],
  [5 * gigabyte, "limit", "5", "GB"],
  [1.25 * gigabyte, "limit", "1.25", "GB"],
  [1024 * gigabyte, "limit", "1", "TB"],
  [gigabyte + 1, "limit", "1073741825", "B"],
])("%d bytes are shown, and saved unchanged", (bytes, mode, amount, unit) => {
  expect(storageLimit(bytes)).toEqual({ mode, amount, unit });
  expect(valueOf(storageLimit(bytes))).toBe(bytes);
});

test.each([-1, 0, 1, 250_000])("%d files are saved unchanged", (files) => {
  expect(valueOf(fileLimit(files))).toBe(files);
});

const gb = (amount: string): Limit => ({ mode: "limit", amount, unit: "GB" });

test("an amount may have a comma or spaces around it", () => {
  expect(valueOf(gb(" 1,5 "))).toBe(1.5 * gigabyte);
  expect(valueOf(gb(".5"))).toBe(gigabyte / 2);
});

test.each(["", " ", "-1", "x", "1e3", "1.2.3", "Infinity", "99999999999"])("%j is no amount", (amount) => {
  expect(valueOf(gb(amount))).toBeNaN();
});

test("a number of files or bytes is whole", () => {
  expect(valueOf({ mode: "limit", amount: "1.5", unit: "" })).toBeNaN();
  expect(valueOf({ mode: "limit", amount: "1.5", unit: "B" })).toBeNaN();
});

test("an unchanged limit and the default of the site are left out", () => {
  expect(valueOf({ mode: "keep", amount: "5", unit: "GB" })).toBeUndefined();
  expect(valueOf({ mode: "default", amount: "", unit: "" })).toBeUndefined();
});
