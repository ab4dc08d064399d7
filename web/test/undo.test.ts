import { beforeEach, expect, test, vi } from "vitest";
import type { Entry } from "../src/lib/entry";
import type { Toast } from "../src/lib/toasts.svelte";
import type * as Undo from "../src/lib/undo";

vi.stubGlobal("location", new URL("https://larder.test/app/files"));
vi.stubGlobal("history", { state: null, replaceState: () => undefined });
vi.stubGlobal("window", {});
vi.stubGlobal("document", { documentElement: {} });

/** The requests that change something: method, path and body. */
let sent: [string, string, unknown][] = [];
/** Ids that the server does not move. */
let kept: string[] = [];
/** The entries as the server has them, by id. */
let now: Record<string, Partial<Entry>> = {};

vi.stubGlobal("fetch", async (url: string, how: RequestInit) => {
  const request = new Request(new URL(url, location.href), how);
  const { pathname } = new URL(request.url);
  if (pathname === "/api/auth/csrf-token") return Response.json({ success: true, data: { token: "t" }, timestamp: 0 });
  if (request.method === "GET") {
    const file = now[pathname.slice("/api/files/".length)];
    if (file) return Response.json({ success: true, data: { file }, timestamp: 0 });
    const error = { code: "NOT_FOUND", message: "There is no such entry." };
    return Response.json({ success: false, error, timestamp: 0 }, { status: 404 });
  }
  const text = await request.text();
  const body = (text ? JSON.parse(text) : {}) as { fileIds?: string[]; fromPath?: string };
  sent.push([request.method, pathname, body]);
  const ids = body.fileIds ?? [];
  const stays = (id: string) => kept.includes(id) || now[id]?.path !== body.fromPath;
  const failed = ids.filter(stays).map((id) => ({ id, code: "OPERATION_FAILED", error: "The server tells why." }));
  const succeeded = ids.filter((id) => !stays(id));
  return Response.json({ success: true, data: { succeeded, failed, jobs: [], trashIds: [], file: {} }, timestamp: 0 });
});

const { toast, toasts } = await import("../src/lib/toasts.svelte");
const { onStar } = await import("../src/lib/favourites");
const { onFolderChange } = await import("../src/lib/upload/changes");
const { setLocale, withTexts } = await import("../src/lib/i18n.svelte");

const entry = (id: string, path: string, more: Partial<Entry> = {}) =>
  ({ id, path, name: `${id}.txt`, type: "file", permissions: [], ...more }) as unknown as Entry;
let undo: typeof Undo;
const changed: string[] = [];
onFolderChange((folder) => changed.push(folder));

beforeEach(async () => {
  await setLocale("en-US");
  undo = await withTexts(import("../src/lib/undo"), "changes");
  toasts.all = [];
  sent = [];
  kept = [];
  now = { a: { path: "/z" }, b: { path: "/z" }, c: { path: "/z" }, sub: { path: "/z" } };
  changed.length = 0;
});

/** Takes the action of the last toast, and waits for the toasts that follow. */
async function act(then: number): Promise<string[]> {
  const { action } = toasts.all.at(-1)!;
  toasts.all = [];
  action!.run();
  await vi.waitFor(() => expect(toasts.all).toHaveLength(then));
  return toasts.all.map(({ kind, text }) => `${kind} ${text}`);
}

test("entries go back to the folders that they came from", async () => {
  kept = ["c"];
  undo.toastMoved([entry("a", "/x"), entry("b", "/y"), entry("c", "/x")], "/z");
  expect(await act(2)).toEqual(["ok 2 items moved back.", expect.stringMatching(/^error 1 item couldn't be moved/)]);
  expect(sent).toEqual([
    ["POST", "/api/files/batch", { action: "move", fromPath: "/z", targetPath: "/x", fileIds: ["a", "c"] }],
    ["POST", "/api/files/batch", { action: "move", fromPath: "/z", targetPath: "/y", fileIds: ["b"] }],
  ]);
  expect(changed).toEqual(["/x", "/y", "/z"]);
});

test("a folder goes back before the entries that were in it", async () => {
  undo.toastMoved([entry("a", "/x/sub"), entry("sub", "/x")], "/z");
  expect(await act(1)).toEqual(["ok 2 items moved back."]);
  expect(sent).toEqual([
    ["POST", "/api/files/batch", { action: "move", fromPath: "/z", targetPath: "/x", fileIds: ["sub"] }],
    ["POST", "/api/files/batch", { action: "move", fromPath: "/z", targetPath: "/x/sub", fileIds: ["a"] }],
  ]);
});

test("an entry that was moved again stays where it is", async () => {
  now = { a: { path: "/z" }, b: { path: "/elsewhere" } };
  undo.toastMoved([entry("a", "/x"), entry("b", "/x")], "/z");
  expect(await act(2)).toEqual(["ok 1 item moved back.", "error 1 item couldn't be moved: The server tells why."]);
  expect(sent).toEqual([
    ["POST", "/api/files/batch", { action: "move", fromPath: "/z", targetPath: "/x", fileIds: ["a", "b"] }],
  ]);
});

test("two moves with the same message can both be undone", () => {
  undo.toastMoved([entry("a", "/x")], "/z");
  undo.toastMoved([entry("b", "/y")], "/z");
  expect(toasts.all.map(({ text }) => text)).toEqual([toasts.all[0]!.text, toasts.all[0]!.text]);
});

test("a message without an action of its own replaces one with the same text", () => {
  toast("error", "No network.", { label: "Retry", run: () => undefined });
  toast("error", "No network.");
  expect(toasts.all.map(({ text, action }) => [text, action])).toEqual([["No network.", undefined]]);
});

test("a move of no entries shows no toast", () => {
  undo.toastMoved([], "/z");
  expect(toasts.all).toEqual([]);
});

test("an entry gets its former name", async () => {
  now = { a: { name: "b.txt" } };
  undo.toastRenamed(entry("a", "/x"), "b.txt");
  expect(await act(1)).toEqual(["ok Undone."]);
  expect(sent).toEqual([["PUT", "/api/files/a", { name: "a.txt" }]]);
  expect(changed).toEqual(["/x"]);
});

const again = "error Nothing was undone, because “b.txt” or its order has changed since.";

test("an entry that was renamed again keeps its name", async () => {
  now = { a: { name: "c.txt" } };
  undo.toastRenamed(entry("a", "/x"), "b.txt");
  expect(await act(1)).toEqual([again]);
  now = {};
  undo.toastRenamed(entry("a", "/x"), "b.txt");
  expect(await act(1)).toEqual([expect.stringMatching(/^error (?!Nothing was undone)/)]);
  expect(sent).toEqual([]);
  expect(changed).toEqual(["/x", "/x"]);
});

test("the message of a rename, and that of its undo, are shown where the caller says", async () => {
  now = { a: { name: "b.txt" } };
  const said: string[] = [];
  let action: Toast["action"];
  undo.toastRenamed(entry("a", "/x"), "b.txt", (kind, text, offered) => {
    said.push(`${kind} ${text}`);
    action ??= offered;
  });
  action!.run();
  await vi.waitFor(() => expect(said).toEqual(["ok Renamed to “b.txt”.", "ok Undone."]));
  expect(toasts.all).toEqual([]);
});

test("removed stars come back in their former order", async () => {
  const starred: string[] = [];
  const off = onStar((id, favourite) => starred.push(`${id} ${favourite}`));
  undo.toastUnstarred([entry("a", "/x"), entry("b", "/y")]);
  expect(toasts.all.map(({ text }) => text)).toEqual(["2 items removed from Favorites."]);
  expect(await act(1)).toEqual(["ok Undone."]);
  expect(sent.map(([method, path]) => `${method} ${path}`)).toEqual([
    "PUT /api/users/me/favourites/b",
    "PUT /api/users/me/favourites/a",
  ]);
  expect(starred).toEqual(["b true", "a true"]);
  off();
});

test("a refusal of the trash is shown where the caller says, and leads to deleting for good", async () => {
  kept = ["a"];
  const { trashOne } = await withTexts(import("../src/routes/panels/trashing"), "trash");
  const said: [string, string | undefined][] = [];
  const purge = vi.fn();
  const say = (kind: Toast["kind"], _: string, action?: Toast["action"]) => {
    said.push([kind, action?.label]);
    action?.run();
  };
  const restored = () => Promise.resolve();
  expect(await trashOne(entry("a", "/x"), { say, purge, restored })).toBe(false);
  expect(said).toEqual([["error", "Delete for good…"]]);
  expect(purge).toHaveBeenCalledOnce();
  expect(toasts.all).toEqual([]);
});

test("an entry gets its former appearance back, also the parts that were not set", async () => {
  const before = entry("a", "/x", { customColor: "#112233", iconEmoji: null });
  const after = entry("a", "/x", { customColor: "#445566", customTitle: "A" });
  now = { a: { customColor: "#445566", customTitle: "A", iconEmoji: null, name: "other.txt" } };
  undo.toastAppearance(before, after);
  await act(1);
  const body = { customColor: "#112233", iconEmoji: null, customTitle: null, coverUrl: null };
  expect(sent).toEqual([["PUT", "/api/files/a", body]]);
});

test("an appearance that was changed again stays", async () => {
  now = { b: { customColor: "#112233", iconEmoji: "x" } };
  undo.toastAppearance(entry("b", "/x"), entry("b", "/x", { customColor: "#112233" }));
  expect(await act(1)).toEqual([again]);
  expect(sent).toEqual([]);
});

const moved = [
  ["a", 3, 5],
  ["b", null, 7],
] as const;

test("all entries whose positions have changed get the former ones", async () => {
  now = { a: { manualPosition: 5 }, b: { manualPosition: 7 } };
  undo.toastOrder(entry("b", "/x"), moved);
  await act(1);
  expect(sent).toEqual([
    ["PUT", "/api/files/a", { manualPosition: 3 }],
    ["PUT", "/api/files/b", { manualPosition: null }],
  ]);
});

test("a manual order that was changed again stays", async () => {
  now = { a: { manualPosition: 5 }, b: {} };
  undo.toastOrder(entry("b", "/x"), moved);
  expect(await act(1)).toEqual([again]);
  expect(sent).toEqual([]);
});
