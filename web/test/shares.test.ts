/** Shares: their state, the bounds of the form, and what a change sends. */
import { beforeAll, expect, test, vi } from "vitest";
import type * as Shares from "../src/lib/shares";
import type { Form, Share } from "../src/lib/shares";

let shares: typeof Shares;

beforeAll(async () => {
  vi.stubGlobal("location", new URL("http://larder.test/app/files"));
  vi.stubGlobal("history", { state: { key: "first", above: false } });
  const { setLocale, withTexts } = await import("../src/lib/i18n.svelte");
  vi.stubGlobal("document", { documentElement: {} });
  await setLocale("en-US");
  shares = await withTexts(import("../src/lib/shares"), "shares");
});

const file = { id: "1", name: "cat.png", path: "/home/ann", type: "file" as const, size: 4, mimeType: "image/png" };
const share: Share = {
  id: "abcdefghijkl",
  url: "http://larder.test/share/abcdefghijkl",
  title: "cat.png",
  file,
  expiresAt: null,
  viewCount: 0,
  downloadCount: 0,
  maxViews: null,
  maxDownloads: null,
  allowPreview: true,
  allowDownload: true,
  requiresPassword: false,
  hasPassword: false,
  status: "active",
  createdAt: 1,
  updatedAt: 1,
};

test("the state is the first reason why visitors are turned away", () => {
  const state = (changes: Partial<Share>) => shares.stateOf({ ...share, ...changes });
  expect(state({})).toBe("active");
  expect(state({ maxViews: 2, viewCount: 1 })).toBe("active");
  expect(state({ maxViews: 2, viewCount: 2 })).toBe("usedUp");
  expect(state({ maxDownloads: 1, downloadCount: 1 })).toBe("active"); // it can still be seen
  expect(state({ status: "expired", maxViews: 2, viewCount: 2 })).toBe("expired");
  expect(state({ status: "expired", file: null })).toBe("gone");
  expect(state({ status: "revoked", file: null })).toBe("revoked");
});

test("a share is extended from its end, from now if that is over, and to a year at most", () => {
  const now = Date.UTC(2026, 10, 24);
  const day = 86_400;
  expect(shares.extension(now + 3_600_000, 7, now)).toBe(7 * day + 3600);
  expect(shares.extension(now - 3_600_000, 7, now)).toBe(7 * day);
  expect(shares.extension(now + 358 * day * 1000, 7, now)).toBe(365 * day);
  expect(shares.extension(now + 359 * day * 1000, 7, now)).toBe(365 * day);
});

test("each field of the form is accepted up to the bounds of the server", () => {
  const wrong = (changes: Partial<Form>, had = false) =>
    Object.keys(shares.problemsOf({ ...shares.emptyForm(), ...changes }, had));
  expect(wrong({})).toEqual([]);
  for (const name of ["maxViews", "maxDownloads"] as const) {
    for (const text of ["", " 1 ", "1000000000"]) expect(wrong({ [name]: text }), text).toEqual([]);
    for (const text of ["0", "1000000001", "-1", "1.5", "1e3", "ten"])
      expect(wrong({ [name]: text }), text).toEqual([name]);
  }
  for (const expiry of [null, undefined, 60, 31_536_000]) expect(wrong({ expiry })).toEqual([]);
  for (const expiry of [-1, 0, 59, 31_536_001]) expect(wrong({ expiry })).toEqual(["expiry"]);
  expect(wrong({ title: "𝒳".repeat(200) })).toEqual([]);
  for (const title of ["x".repeat(201), "a\tb", "a\u202eb"]) expect(wrong({ title })).toEqual(["title"]);
  expect(wrong({ password: "🔑".repeat(128) })).toEqual([]);
  expect(wrong({ password: "x".repeat(129) })).toEqual(["password"]);
  expect(wrong({ password: "", change: "change" }, true)).toEqual(["password"]);
  for (const change of ["keep", "remove"] as const) expect(wrong({ password: "", change }, true)).toEqual([]);
});

test("a change sends what the form changes, and nothing else", () => {
  const limited = { ...share, title: "Cat", maxViews: 5, hasPassword: true };
  const sent = (changes: Partial<Form>) => shares.changes({ ...shares.formOf(limited), ...changes }, limited);
  expect(sent({})).toEqual({});
  expect(sent({ title: " " })).toEqual({ title: null });
  expect(sent({ change: "remove" })).toEqual({ password: null });
  expect(sent({ change: "change", password: "open sesame" })).toEqual({ password: "open sesame" });
  expect(sent({ expiry: null })).toEqual({ expiresIn: null });
  expect(sent({ expiry: 3600, maxViews: "", maxDownloads: "3" })).toEqual({
    expiresIn: 3600,
    maxViews: null,
    maxDownloads: 3,
  });
  expect(sent({ allowPreview: false, allowDownload: false })).toEqual({ allowPreview: false, allowDownload: false });
  expect(shares.formOf(share).title).toBe(""); // the name of the file is no title
});

test("the page of a file is its folder with the file open", async () => {
  const { pageOf } = await import("../src/lib/page");
  expect(pageOf(file)).toBe("/app/files/home/ann?view=1");
  expect(pageOf({ ...file, type: "folder", name: "my cats" })).toBe("/app/files/home/ann/my%20cats");
});
