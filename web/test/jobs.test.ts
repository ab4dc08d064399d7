import { beforeEach, expect, test, vi } from "vitest";
import type { Entry } from "../src/lib/entry";

const stored = new Map<string, string>();
vi.stubGlobal("sessionStorage", {
  getItem: (key: string) => stored.get(key) ?? null,
  setItem: (key: string, value: string) => stored.set(key, value),
  removeItem: (key: string) => stored.delete(key),
});
vi.stubGlobal("location", new URL("https://larder.test/app/files"));
vi.stubGlobal("history", { state: null, replaceState: () => undefined });
vi.stubGlobal("window", {});
vi.stubGlobal("document", { documentElement: {} });

/** The jobs of the server by id; the network is down for those without a status. */
let jobs: Record<string, { status: string; progress: number; errorMessage?: string } | undefined> = {};
let polled: string[] = [];

const answer = (data: unknown) => Response.json({ success: true, data, timestamp: 0 });
vi.stubGlobal("fetch", async (url: string, how: RequestInit) => {
  const { pathname } = new URL(new Request(new URL(url, location.href), how).url);
  if (pathname === "/api/auth/csrf-token") return answer({ token: "t" });
  if (pathname === "/api/files/batch")
    return answer({
      succeeded: ["a", "b"],
      failed: [],
      jobs: [
        { id: "a", jobId: "moveA" },
        { id: "b", jobId: "moveB" },
      ],
      trashIds: [],
    });
  if (pathname.endsWith("/copy")) return answer({ jobId: "copyA" });
  const id = pathname.slice("/api/files/jobs/".length);
  polled.push(id);
  if (!(id in jobs)) {
    const error = { code: "NOT_FOUND", message: "There is no such job." };
    return Response.json({ success: false, error, timestamp: 0 }, { status: 404 });
  }
  if (!jobs[id]) throw new TypeError("network");
  return answer({ job: { id, errorMessage: null, ...jobs[id] } });
});

const { actFor } = await import("../src/lib/api");
const { copyAll, moveAll } = await import("../src/lib/bulk");
const { activities } = await import("../src/lib/activities.svelte");
const { setLocale, withTexts } = await import("../src/lib/i18n.svelte");
await setLocale("en-US");
const { awaited } = await import("../src/lib/job");
const { resumeJobs } = await withTexts(import("../src/lib/jobCards"), "changes", "past");
const { toasts } = await import("../src/lib/toasts.svelte");
const { onFolderChange } = await import("../src/lib/upload/changes");

const entry = (id: string) => ({ id, path: "/from", name: id, type: "file", permissions: [] }) as unknown as Entry;
const ended = { status: "completed", progress: 100 };
const running = { status: "processing", progress: 40 };
const failed = { status: "failed", progress: 40 };
const changed: string[] = [];
onFolderChange((folder) => changed.push(folder));
const job = (jobId: string, action: string, to: string) => ({ jobId, action, to, account: "alice" });
const toMove = (jobId: string) => job(jobId, "move", "/to");
const toRewind = (jobId: string, at: number) => ({ ...job(jobId, "rewind", "/to"), at });

beforeEach(() => {
  actFor("alice");
  stored.clear();
  toasts.all = [];
  activities.all = [];
  polled = [];
  changed.length = 0;
});

test("jobs are remembered until they have ended", async () => {
  jobs = { moveA: running, moveB: running };
  const move = moveAll([entry("a"), entry("b")], "/to", () => undefined);
  await vi.waitFor(() => expect(awaited()).toEqual([toMove("moveA"), toMove("moveB")]));
  jobs = { moveA: ended, moveB: failed };
  await move;
  expect(awaited()).toEqual([]);

  jobs = { copyA: running };
  const copy = copyAll([entry("a")], "/to", () => undefined);
  await vi.waitFor(() => expect(awaited()).toEqual([job("copyA", "copy", "/to")]));
  jobs = { copyA: ended };
  await copy;
  expect(awaited()).toEqual([]);
});

test("a page that is loaded again shows them, one card for each action and folder", async () => {
  const all = [toMove("moveA"), toMove("moveB"), job("copyA", "copy", "/")];
  stored.set("larder.jobs", JSON.stringify(all));
  jobs = { moveA: running, moveB: running, copyA: running };
  const end = resumeJobs();
  const cards = () => activities.all.map(({ label, total, done }) => ({ label, total, done }));
  await vi.waitFor(() =>
    expect(cards()).toEqual([
      { label: "Moving to “to”", total: 2, done: 0.8 },
      { label: "Copying to “Files”", total: 1, done: 0.4 },
    ]),
  );
  expect(awaited()).toEqual(all);
  jobs = { moveA: ended, moveB: failed, copyA: ended };
  await end;
  expect(activities.all).toEqual([]);
  expect(awaited()).toEqual([]);
  expect(changed.sort()).toEqual(["/", "/to"]);
  expect(toasts.all.map(({ kind, text }) => `${kind} ${text}`).sort()).toEqual([
    expect.stringMatching(/^error 1 item couldn't be moved: ./),
    "ok 1 item copied to “Files”.",
    "ok 1 item moved to “to”.",
  ]);
});

test("the page shows a card for each rewind of a folder to another time", async () => {
  const [first, second] = [Date.UTC(2026, 0, 2), Date.UTC(2026, 0, 3)];
  stored.set("larder.jobs", JSON.stringify([toRewind("a", first), toRewind("b", second)]));
  jobs = { a: running, b: running };
  const end = resumeJobs();
  await vi.waitFor(() =>
    expect(activities.all.map(({ label, done }) => [label, done])).toEqual([
      ["Bringing “to” back", 0.4],
      ["Bringing “to” back", 0.4],
    ]),
  );
  jobs = { a: ended, b: { ...failed, errorMessage: "The storage is full." } };
  await end;
  expect(awaited()).toEqual([]);
  expect(toasts.all.map(({ kind, text }) => `${kind} ${text}`).sort()).toEqual([
    expect.stringMatching(/^error .*“to”.* The storage is full\.$/),
    expect.stringMatching(/^ok “to” is as it was on .*2026/),
  ]);
});

test("a job that ended long ago is forgotten without a message", async () => {
  stored.set("larder.jobs", JSON.stringify([toMove("gone")]));
  jobs = {};
  await resumeJobs();
  expect(polled).toEqual(["gone"]);
  expect(awaited()).toEqual([]);
  expect(toasts.all).toEqual([]);
});

test("another account in the tab sees nothing of them, and leaves them to their account", async () => {
  stored.set("larder.jobs", JSON.stringify([toMove("moveA")]));
  jobs = { moveA: running };
  actFor("bob");
  await resumeJobs();
  expect(polled).toEqual([]);
  jobs = { copyA: ended };
  await copyAll([entry("a")], "/bobs", () => undefined);
  actFor("alice");
  expect(awaited()).toEqual([toMove("moveA")]);
});

test("a job goes on while the server cannot be reached", async () => {
  stored.set("larder.jobs", JSON.stringify([toMove("moveA")]));
  jobs = { moveA: undefined };
  const end = resumeJobs();
  await vi.waitFor(() => expect(polled.length).toBeGreaterThan(1), 5000);
  expect(toasts.all).toEqual([]);
  expect(awaited()).toEqual([toMove("moveA")]);
  jobs = { moveA: ended };
  await end;
  expect(toasts.all.map(({ text }) => text)).toEqual(["1 item moved to “to”."]);
});

test.each(["{", "{}", "null", "1"])("a stored value that is no list of jobs is ignored: %s", async (value) => {
  stored.set("larder.jobs", value);
  await resumeJobs();
  expect(polled).toEqual([]);
  jobs = { copyA: ended };
  expect((await copyAll([entry("a")], "/to", () => undefined)).done).toHaveLength(1);
});
