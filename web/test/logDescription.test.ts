/** The access log says in words what was done. */
import { beforeAll, expect, test, vi } from "vitest";
import type * as Description from "../src/routes/admin/logs/describe";

let describe: typeof Description.describe;
let setLocale: (to: "en-US" | "zh-CN") => Promise<void>;

beforeAll(async () => {
  vi.stubGlobal("location", new URL("http://larder.test/app/admin/logs"));
  vi.stubGlobal("document", { documentElement: {} });
  const i18n = await import("../src/lib/i18n.svelte");
  setLocale = i18n.setLocale;
  await setLocale("en-US");
  ({ describe } = await i18n.withTexts(import("../src/routes/admin/logs/describe"), "admin"));
});

const id = "83d628b0-5669-418b-97cf-436792a63eab";

test.each([
  ["POST", "/api/admin/mounts", "Mount created"],
  ["PUT", `/api/admin/mounts/${id}`, "Mount changed"],
  ["DELETE", `/api/admin/mounts/${id}`, "Mount deleted"],
  ["POST", `/api/admin/mounts/${id}/evacuate`, "Files of a mount moved"],
  ["DELETE", "/api/admin/storage/providers/local", "Storage deleted"],
  ["POST", "/api/admin/storage/providers/local/evacuate", "Files of a storage moved"],
  ["PATCH", "/api/admin/settings", "Site settings changed"],
  ["POST", "/api/admin/settings/test-email", "Test email sent"],
  ["DELETE", `/api/admin/users/${id}`, "Account deleted"],
  ["POST", `/api/admin/users/${id}/password`, "Password of an account reset"],
  ["DELETE", `/api/admin/users/${id}/trash`, "Trash of an account emptied"],
  ["DELETE", "/api/admin/something", "Administration"],
  [null, `/api/admin/mounts/${id}`, "Administration"], // of an earlier version
])("an administrator's change: %s %s", (method, path, name) => {
  expect(describe({ action: "admin", method, path })).toBe(name);
});

test.each([
  ["share", "POST", "Shared"],
  ["share", "PATCH", "Sharing changed"],
  ["share", "DELETE", "Sharing ended"],
  ["share", null, "Share"],
  ["key", "DELETE", "API key revoked"],
  ["webdav", "MOVE", "WebDAV MOVE"],
  ["webdav", null, "WebDAV"],
  ["upload", "POST", "Upload"],
  ["of_a_later_version", "POST", "of_a_later_version"],
])("%s by %s", (action, method, name) => {
  expect(describe({ action, method, path: "/home/lin/a" })).toBe(name);
});

test("the names are in the language of the reader", async () => {
  await setLocale("zh-CN");
  expect(describe({ action: "admin", method: "DELETE", path: `/api/admin/rules/${id}` })).toBe("删除规则");
});

test("every change by an administrator has a name", async () => {
  await setLocale("en-US");
  const { paths } = (await import("../openapi.json")).default as { paths: Record<string, Record<string, unknown>> };
  const changes = Object.entries(paths)
    .filter(([path]) => path.startsWith("/api/admin/"))
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })))
    .filter(({ method, path }) => method !== "GET" && !/\/(test|explain)$/.test(path)); // these two change nothing
  expect(changes.length).toBeGreaterThan(20);
  const unnamed = changes.filter((change) => describe({ action: "admin", ...change }) === "Administration");
  expect(unnamed).toEqual([]);
});
