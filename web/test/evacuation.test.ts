/** Evacuations: their state, the ones that are shown, and their speed. */
import { expect, test, vi } from "vitest";
import { readFileSync } from "node:fs";
import {
  intoProvider,
  ofMount,
  ofProvider,
  Pace,
  shownOf,
  stateOf,
  type Evacuation,
} from "../src/routes/admin/evacuation/evacuation";
import { evacuation as english } from "../src/messages/en-US/admin/evacuation";
import type { Provider } from "../src/routes/admin/storage/provider";
import type { Mount } from "../src/routes/admin/mounts/overlaps";

vi.hoisted(() => {
  vi.stubGlobal("location", { pathname: "/", search: "" });
  vi.stubGlobal("history", { state: null });
  vi.stubGlobal("document", { documentElement: {} });
});

const one = (more: Partial<Evacuation>) =>
  ({
    jobId: "j1",
    providerId: "disk",
    providerName: "disk",
    targetProviderId: "bucket",
    mountId: null,
    status: "running",
    paused: false,
    mounted: false,
    totalObjects: 4,
    completedAt: null,
    ...more,
  }) as Evacuation;

test("the state of an evacuation", () => {
  const states = [
    { status: "pending", totalObjects: null },
    { status: "pending", totalObjects: null, paused: true },
    { status: "running" },
    { status: "pending" }, // is tried again
    { status: "pending", mounted: true },
    { status: "pending", mounted: true, paused: true },
    { status: "completed", mounted: true },
    { status: "failed" },
  ] as const;
  expect(states.map((more) => stateOf(one(more)))).toEqual([
    "waiting",
    "paused",
    "running",
    "running",
    "removing",
    "paused",
    "completed",
    "failed",
  ]);
});

test("open ones are shown, and for a week the last one of a storage or mount that ended", () => {
  const day = 24 * 3600 * 1000;
  const ended = (jobId: string, ago: number, more: Partial<Evacuation> = {}) =>
    one({ jobId, status: "failed", completedAt: 100 * day - ago, ...more });
  const all = [
    one({ jobId: "open", mountId: "m1" }),
    ended("last", 1),
    ended("before", 2),
    ended("mount", 6 * day, { mountId: "m2" }),
    ended("old", 8 * day, { providerId: "attic" }),
    ended("gone", 1, { providerId: "shed", providerName: "" }),
  ];
  const shown = (wanted: string | null) => shownOf(all, 100 * day, wanted).map(({ jobId }) => jobId);
  expect(shown(null)).toEqual(["open", "last", "mount"]);
  expect(shown("old")).toEqual(["open", "last", "mount", "old"]);
  expect(shown("gone")).toEqual(["open", "last", "mount", "gone"]);
});

test("storages and mounts name their evacuation until it ends", () => {
  const [disk, bucket] = [{ id: "disk" } as Provider, { id: "bucket" } as Provider];
  const mount = (id: string, providerId: string) => ({ id, providerId }) as Mount;
  const whole = [one({})];
  expect(ofProvider(whole, disk)?.jobId).toBe("j1");
  expect(ofProvider(whole, bucket)).toBeUndefined();
  expect(intoProvider(whole, bucket)).toEqual(whole);
  expect(ofMount(whole, mount("m1", "disk"))?.jobId).toBe("j1");
  expect(ofMount(whole, mount("m1", "bucket"))).toBeUndefined();
  const part = [one({ mountId: "m1" })];
  expect(ofProvider(part, disk)).toBeUndefined();
  expect(ofMount(part, mount("m1", "disk"))?.jobId).toBe("j1");
  expect(ofMount(part, mount("m2", "disk"))).toBeUndefined();
  expect(ofMount([one({ status: "completed" })], mount("m1", "disk"))).toBeUndefined();
});

test("the speed is that of the last minute, and unknown at first", () => {
  const pace = new Pace();
  pace.record(0, 0);
  pace.record(500, 1000);
  expect(pace.speed).toBe(0);
  pace.record(2000, 2000);
  expect(pace.speed).toBe(1000);
  for (let second = 3; second <= 80; second++) pace.record(2000, second * 1000);
  expect(pace.speed).toBe(0);
  pace.reset();
  pace.record(0, 90_000);
  expect(pace.speed).toBe(0);
});

test("each reason of the server has a sentence", () => {
  const { components } = JSON.parse(readFileSync("openapi.json", "utf8")) as {
    components: { schemas: { ApiEvacuationReply: { properties: { reason: { enum: string[] } } } } };
  };
  const reasons = components.schemas.ApiEvacuationReply.properties.reason.enum;
  expect(Object.keys(english.reasons).sort()).toEqual(reasons.filter((reason) => reason !== null).sort());
});
