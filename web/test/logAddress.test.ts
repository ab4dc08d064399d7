import { expect, test } from "vitest";
import { entriesAt, explanationAddress } from "../src/routes/admin/logs/address";
import type { LogEntry } from "../src/routes/admin/logs/query";

test("the address of the log with the entries of a path", () => {
  expect(entriesAt("/public/a b&c.jpg", "week")).toBe("/app/admin/logs?search=%2Fpublic%2Fa+b%26c.jpg&range=week");
  // the server takes 255 characters
  const long = `/${"猫".repeat(300)}`;
  expect(new URLSearchParams(entriesAt(long, "day").split("?")[1]).get("search")).toBe("猫".repeat(255));
});

test("the address of the explanation of a refused entry", () => {
  const entry = { statusCode: 403, action: "folder", path: "/a b", userId: "u", ip: "192.0.2.1" } as LogEntry;
  expect(explanationAddress(entry)).toBe("/app/admin/rules?explain=1&permission=write&path=%2Fa+b&user=u&ip=192.0.2.1");
  // the key decides, not its account; a visitor has neither
  expect(explanationAddress({ ...entry, keyId: "k" })).toContain("&key=k&ip=");
  expect(explanationAddress({ ...entry, action: "download", userId: null, ip: null })).toBe(
    "/app/admin/rules?explain=1&permission=download&path=%2Fa+b",
  );
  // no rule decides on these
  expect(explanationAddress({ ...entry, statusCode: 404 })).toBe("");
  expect(explanationAddress({ ...entry, action: "login_failed" })).toBe("");
});
