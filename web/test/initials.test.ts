import { expect, test } from "vitest";
import { initials } from "../src/lib/initials";

test.each([
  ["ann", "A"],
  ["Ann Lee", "AL"],
  ["Ann Maria van Lee", "AL"],
  [" bob_stone ", "BS"],
  ["林小雨", "林"],
  ["김 철수", "김"],
  ["émile", "É"],
  ["😀 smile", "😀S"],
  ["7days", "7"],
  ["", ""],
  ["--", ""],
])("the initials of %j are %j", (name, letters) => {
  expect(initials(name)).toBe(letters);
});
