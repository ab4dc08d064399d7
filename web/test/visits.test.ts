/** What visitors of shares and public folders can download, and what they are told. */
import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { Entry } from "../src/lib/entry";
import type { Source } from "../src/lib/source/source";

vi.hoisted(() => {
  vi.stubGlobal("location", { origin: "http://larder.test", pathname: "/share/s", search: "" });
  vi.stubGlobal("history", { state: null });
  vi.stubGlobal("window", new EventTarget());
  vi.stubGlobal("matchMedia", () => new EventTarget());
  vi.stubGlobal("document", { documentElement: { dataset: {} }, createElement: () => ({ click: () => undefined }) });
});

import { Failure } from "../src/lib/api";
import { GuestVisit } from "../src/lib/guestVisit.svelte";
import { setLocale, withTexts } from "../src/lib/i18n.svelte";
import { ShownFiles } from "../src/lib/shownFile.svelte";
import { toasts } from "../src/lib/toasts.svelte";
import { ShareVisit } from "../src/lib/visit.svelte";
import { download } from "../src/routes/visit/download";

const entryOf = (more: Partial<Entry> = {}) =>
  ({
    id: "i",
    name: "a.txt",
    path: "/public",
    type: "file",
    hasPassword: false,
    permissions: ["read"],
    ...more,
  }) as Entry;

let answers: Response[] = [];
vi.stubGlobal("fetch", async () => answers.shift()!);
const refused = (status: number, code: string) =>
  Response.json({ success: false, error: { code, message: "in English" } }, { status });
const share = (more: object = {}) =>
  Response.json({
    success: true,
    data: { share: { allowPreview: true, allowDownload: true, maxDownloads: 2, downloadCount: 0, ...more } },
  });

async function open(more: object = {}): Promise<ShareVisit> {
  answers = [share(more)];
  const visit = new ShareVisit("s", "");
  await vi.waitFor(() => expect(visit.share).toBeDefined());
  return visit;
}

beforeAll(async () => {
  await setLocale("zh-CN");
  await withTexts(Promise.resolve(), "share", "viewer");
});
beforeEach(() => void (toasts.all = []));
const told = () => toasts.all.map(({ text }) => text);

test("a visitor can download what the listing allows, and what a password opens", async () => {
  const visit = new GuestVisit();
  expect(visit.canDownload(entryOf({ permissions: ["read"] }))).toBe(false);
  expect(visit.canDownload(entryOf({ permissions: ["read", "download"] }))).toBe(true);
  expect(visit.canDownload(entryOf({ hasPassword: true }))).toBe(true);
  const asked = visit.renew(entryOf({ id: "opened" })); // a rule asks for a password
  visit.answer("/api/gateway/download/t");
  expect(await asked).toBe(true);
  expect(visit.canDownload(entryOf({ id: "opened" }))).toBe(true);
});

test("a visitor can download what the password of a rule opens", async () => {
  const visit = new GuestVisit();
  answers = [refused(403, "FORBIDDEN"), refused(403, "PASSWORD_REQUIRED")];
  await visit.findLock(entryOf({ id: "denied" }));
  expect(visit.canDownload(entryOf({ id: "denied" }))).toBe(false);
  await visit.findLock(entryOf({ id: "locked" }));
  expect(visit.canDownload(entryOf({ id: "locked" }))).toBe(true);
  await visit.findLock(entryOf({ permissions: ["download"] })); // needs no request
  expect(answers).toEqual([]);
});

test("a file of a share can be downloaded while downloads are left", async () => {
  const file = entryOf({ permissions: ["read", "download"] });
  expect((await open()).canDownload(file)).toBe(true);
  expect((await open({ downloadCount: 2 })).canDownload(file)).toBe(false);
  expect((await open()).canDownload(entryOf({ permissions: ["read"] }))).toBe(false);
});

test("downloads of others count, and each of the visitor's own counts once", async () => {
  const visit = await open({ maxDownloads: 5, downloadCount: 1 });
  answers = [Response.json({ success: true, data: { url: "/api/gateway/download/t", expiresIn: 300 } })];
  expect(await download(visit.source(), entryOf())).toBe(true);
  expect(visit.left).toBe(3);
  const left = [1, 2, 3, undefined, 5].map((counted) => {
    visit.saw({ revision: "", total: 1, ...(counted !== undefined && { downloadCount: counted }) });
    return visit.left;
  });
  expect(left).toEqual([3, 3, 2, 2, 0]);
  expect(visit.canDownload(entryOf({ permissions: ["download"] }))).toBe(false);
});

test("a visit takes over what the creator has changed", async () => {
  const visit = await open({ title: "a", expiresAt: null });
  const state = { revision: "", total: 1, downloadCount: 2, accessExpiresIn: null };
  visit.saw({ ...state, title: "b", expiresAt: 5, maxDownloads: 4, allowPreview: false, allowDownload: true });
  expect(visit.share).toMatchObject({ title: "b", expiresAt: 5, maxDownloads: 4, allowPreview: false });
  expect([visit.left, visit.previews]).toEqual([2, false]);

  answers = [refused(410, "SHARE_LIMIT_REACHED")];
  await download(visit.source(), entryOf());
  expect(visit.left).toBe(0);
  visit.saw({ ...state, maxDownloads: null });
  expect(visit.left).toBeUndefined();

  const { share } = visit;
  visit.saw({ ...state, maxDownloads: null }); // the same again
  expect(visit.share).toBe(share);
  visit.saw({ revision: "", total: 1 }); // of an older server
  expect(visit.share).toBe(share);
});

test.each<[string, number | null | undefined, boolean]>([
  ["a share without a password gets one", null, true],
  ["the password is another one", 1000, true],
  ["the time of the password is over", 0, false],
  ["no state has arrived", undefined, false],
])("whether the page is locked when %s", async (_, accessExpiresIn, locked) => {
  const visit = await open({ requiresPassword: false });
  if (accessExpiresIn !== undefined) visit.saw({ revision: "", total: 1, accessExpiresIn });
  expect(visit.end("INVALID_PASSWORD", "/")).toBe(true);
  expect([visit.locked, visit.ended]).toEqual([locked, ""]);
  answers = [Response.json({ success: true, data: { authorized: true } })];
  await visit.unlock("another");
  expect(visit.locked).toBe(false);
  expect(visit.share).toBeDefined(); // and no further view was counted
});

test("a closed question for the password is no error", async () => {
  const guest = new GuestVisit();
  const first = download(guest.source(), entryOf({ hasPassword: true }));
  guest.answer(undefined);
  expect(await first).toBe(false);

  const visit = await open();
  answers = [refused(401, "INVALID_PASSWORD")];
  const second = download(visit.source(), entryOf({ permissions: ["read", "download"] }));
  await vi.waitFor(() => expect(visit.asking).toBe(true));
  visit.answer(false);
  expect(await second).toBe(false);
  expect(told()).toEqual([]);
});

test("a file that is not shown, because the question was closed, needs a password", async () => {
  const visit = await open();
  const shown = new ShownFiles(visit);
  answers = [refused(401, "INVALID_PASSWORD")];
  const failed = shown.failed(entryOf(), { url: "/api/shares/s/preview" });
  await vi.waitFor(() => expect(visit.asking).toBe(true));
  visit.answer(false);
  await failed;
  expect(shown.problem(entryOf())).toBe("需要访问密码。");
});

test.each([
  ["SHARE_EXPIRED", 410, "分享已过期"],
  ["SHARE_REVOKED", 410, "分享已失效"],
  ["SHARE_LIMIT_REACHED", 410, "下载次数已用完"],
  ["NOT_FOUND", 404, "此文件已不存在。"],
])("a download that is refused with %s says so in the visitor's language", async (code, status, text) => {
  const visit = await open();
  answers = [refused(status, code)];
  expect(await download(visit.source(), entryOf())).toBe(false);
  expect(told()).toEqual([text]);
});

test("other failures of a download are told as everywhere", async () => {
  const source = { download: () => Promise.reject(new Failure("PASSWORD_REQUIRED", "")) } as unknown as Source;
  expect(await download(source, entryOf())).toBe(false);
  expect(told()).toEqual(["需要访问密码。"]);
});
