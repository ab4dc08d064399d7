import { expect, test } from "vitest";
import { entriesAt } from "../src/routes/admin/logs/address";

test("the address of the log with the entries of a path", () => {
  expect(entriesAt("/public/a b&c.jpg", "week")).toBe("/app/admin/logs?search=%2Fpublic%2Fa+b%26c.jpg&range=week");
  // the server takes 255 characters
  const long = `/${"猫".repeat(300)}`;
  expect(new URLSearchParams(entriesAt(long, "day").split("?")[1]).get("search")).toBe("猫".repeat(255));
});
