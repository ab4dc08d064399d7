/** What a change of accounts does, in words. */
import { beforeAll, expect, test, vi } from "vitest";
import { setLocale, withTexts } from "../src/lib/i18n.svelte";
import { sentences } from "../src/routes/admin/users/users";

vi.hoisted(() => {
  vi.stubGlobal("location", { pathname: "/", search: "" });
  vi.stubGlobal("history", { state: null });
  vi.stubGlobal("document", { documentElement: {} });
});

const nothing = { sessions: 0, keys: 0, shares: 0, files: 0, storage: 0 };
const rights = "The rights on files and folders become those of the new role";

beforeAll(async () => {
  await setLocale("en-US");
  await withTexts(Promise.resolve(), "admin");
});

test("another role ends sessions, and keys and shares act with it", () => {
  expect(sentences("role", { ...nothing, sessions: 1, keys: 2, shares: 3, files: 4 })).toEqual([
    "1 session ends: a new sign-in is needed",
    "2 API keys act with the new role from now on",
    "3 shares give only what the new role may share",
    rights,
  ]);
});

test("another role changes rights without a session, a key or a share", () => {
  expect(sentences("role", nothing)).toEqual([rights]);
});
