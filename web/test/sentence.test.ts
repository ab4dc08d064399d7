/** Notifications in words. */
import { beforeAll, expect, test, vi } from "vitest";
import { setLocale, t, withTexts } from "../src/lib/i18n.svelte";
import { sentence, type Notification } from "../src/routes/notices/sentence";

vi.hoisted(() => {
  vi.stubGlobal("location", { pathname: "/", search: "" });
  vi.stubGlobal("history", { state: null });
  vi.stubGlobal("document", { documentElement: {} });
});

const base = { id: "n", createdAt: 0, read: false };
const said = (more: Partial<Notification>, now = 1000) => sentence({ ...base, ...more } as Notification, now);

beforeAll(async () => {
  await setLocale("en-US");
  await withTexts(Promise.resolve(), "notices");
});

test("a job leads to its target", () => {
  const job = {
    kind: "job",
    jobType: "move",
    status: "completed",
    path: "/a b",
    name: "x",
    jobs: 1,
    files: 1,
  } as const;
  expect(said(job)).toMatchObject({ kind: "ok", title: "“x” was moved to /a b", text: "", href: "/app/files/a%20b" });
  expect(said({ ...job, jobType: "copy", files: 3 })).toMatchObject({
    title: "“x” was copied to /a b",
    text: "3 files",
  });
  expect(said({ ...job, jobs: 2 }).title).toBe("2 items were moved to /a b");
  expect(said({ ...job, status: "failed", error: "No." })).toMatchObject({ kind: "danger", text: "No." });
  expect(said({ ...job, name: "" }).title).toBe("An item was moved to /a b");
});

test("an evacuation leads to the storages", () => {
  const end = {
    kind: "job",
    jobType: "evacuate",
    status: "completed",
    path: "",
    name: "Disk",
    target: "Vault",
  } as const;
  expect(said(end)).toMatchObject({
    kind: "ok",
    title: "“Disk” was moved to Vault",
    text: "",
    href: "/app/admin/storage",
  });
  expect(said({ ...end, status: "failed", error: "Key a/1 is missing." })).toMatchObject({
    kind: "danger",
    title: "“Disk” wasn't moved to Vault",
    text: "Key a/1 is missing.",
    href: "/app/admin/storage",
  });
});

test("a share, before and after its end", () => {
  const share = { kind: "share", name: "x", shareId: "s", expiresAt: 1000 } as const;
  expect(said(share, 999).title).toMatch(/expires on/);
  expect(said(share, 1000).title).toMatch(/expired on/);
  expect(said(share, 999).href).toBe("/app/shares");
});

test("a quota", () => {
  expect(said({ kind: "quota", percent: 91 })).toMatchObject({
    title: "91% of your storage is used",
    kind: "warn",
    href: "/app/settings/storage",
  });
});

test("an upload, while its parts are kept and afterwards", () => {
  const upload = { kind: "upload", name: "x", path: "/a", keptUntil: 2000 } as const;
  expect(said(upload, 1999).text).toMatch(/kept until/);
  expect(said(upload, 2000).text).toBe(t.notices.uploadAgain);
  expect(said(upload).href).toBe("/app/files/a");
});
