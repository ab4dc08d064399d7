import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Browser, file, MiB, mtime, type Page } from "./uploadpage";
import { store } from "./uploadserver";

let browser: Browser;
let page: Page;

beforeEach(async () => {
  browser = new Browser();
  page = await browser.open();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const part = /\/part\/\d+$/;

describe("what goes well", () => {
  test("small files go in one piece each, four requests and three files at once", async () => {
    let most = 0;
    await page.engine.add(
      Array.from({ length: 20 }, (_, n) => file(`${n}.png`, n)),
      "/photos",
    );
    await browser.until(() => {
      most = Math.max(
        most,
        page.items.filter((item) => ["starting", "uploading", "finishing"].includes(item.state)).length,
      );
      return page.idle;
    });
    expect([...browser.server.files]).toHaveLength(20);
    expect(browser.server.files.get("/photos/7.png")).toBe(7);
    expect(browser.server.times("PUT", /\/raw\//)).toBe(20);
    expect(most).toBe(3);
    expect(browser.server.most).toBeLessThanOrEqual(4);
    expect(page.done).toHaveLength(20);
  });

  test("from 16 MB on a file goes in parts of 8 MB", async () => {
    await page.engine.add([file("a.mov", 16 * MiB), file("b.mov", 16 * MiB - 1)], "/photos");
    await browser.until(() => page.idle);
    expect(browser.server.times("PUT", part)).toBe(2);
    expect(browser.server.times("PUT", /\/raw\//)).toBe(1);
    expect(browser.server.files.get("/photos/a.mov")).toBe(16 * MiB);
  });

  test("folders of a tree are made first, each once, and may be there", async () => {
    browser.server.folders.add("/photos/trip");
    const added = page.engine.add(
      [file("trip/a/1.png", 1), file("trip/a/2.png", 1), file("trip/3.png", 1)],
      "/photos",
      {
        folders: ["trip/empty"],
      },
    );
    await browser.until(() => page.idle);
    await added;
    expect([...browser.server.folders].sort()).toEqual([
      "/photos",
      "/photos/trip",
      "/photos/trip/a",
      "/photos/trip/empty",
    ]);
    expect(browser.server.times("POST", /\/folder$/)).toBe(3);
    expect([...browser.server.files.keys()].sort()).toEqual([
      "/photos/trip/3.png",
      "/photos/trip/a/1.png",
      "/photos/trip/a/2.png",
    ]);
  });

  test("thousands are added in bites", async () => {
    const many = Array.from({ length: 1000 }, (_, n) => file(`${n}.png`, 1));
    page.engine.pauseAll();
    const adding = page.engine.add(many, "/photos");
    expect(page.items).toHaveLength(40); // enough for the visible part of the list
    await browser.pass(100);
    await adding;
    expect(page.items).toHaveLength(1000);
  });

  test("cancelling all while thousands are added drops those to come, in the browser's store too", async () => {
    const many = Array.from({ length: 1000 }, (_, n) => file(`${n}.png`, 1));
    const adding = page.engine.add(many, "/photos");
    page.engine.cancelAll();
    await browser.pass(1000);
    await adding;
    expect(page.items).toEqual([]);
    expect([...browser.server.files]).toEqual([]);
    browser.close(page);
    const after = await browser.open();
    await browser.pass(1000);
    expect(after.items).toEqual([]);
  });

  test("skipping all so far while thousands are added drops none of those to come", async () => {
    const many = Array.from({ length: 60 }, (_, n) => file(`${n}.png`, 1));
    page.engine.pauseAll();
    const adding = page.engine.add(many, "/photos");
    page.engine.cancel(page.items);
    await browser.pass(100);
    await adding;
    expect(page.items.map((item) => item.name)).toEqual(many.slice(40).map(({ relPath }) => relPath));
  });

  test("where the disk is slow, in smaller ones", async () => {
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const slow = Array.from({ length: 100 }, (_, n) => {
      const one = file(`${n}.png`, 1);
      Object.defineProperty(one.file, "lastModified", { get: () => ((now += 10), n) });
      return one;
    });
    page.engine.pauseAll();
    const adding = page.engine.add(slow, "/photos");
    expect(page.items.length).toBe(4); // 10 ms each, more than 30 in all
    await browser.pass(100);
    await adding;
    expect(page.items).toHaveLength(100);
  });
});

describe("what breaks and passes", () => {
  test.each(["cut", { status: 503 }, { status: 408 }] as const)("%j is tried again five times", async (fault) => {
    let left = 5;
    browser.server.fault = (_, path) => (path.includes("/raw/") && left-- > 0 ? fault : undefined);
    await page.engine.add([file("a.png", 3)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "done" });
    expect(browser.server.times("PUT", /\/raw\//)).toBe(6);
  });

  test("a completion that the server says to repeat is repeated", async () => {
    let left = 2;
    browser.server.fault = (_, path) =>
      path.endsWith("/upload-complete") && left-- > 0
        ? { status: 409, code: "OPERATION_FAILED", headers: { "Retry-After": "5" } }
        : undefined;
    await page.engine.add([file("a.mov", 24 * MiB)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.mov": "done" });
    expect(browser.server.times("POST", /\/upload-complete$/)).toBe(3);
    expect(browser.server.times("PUT", part)).toBe(3);
  });

  test("a sixth time is none, and a person may try again", async () => {
    browser.server.fault = (_, path) => (path.includes("/raw/") ? { status: 503 } : undefined);
    await page.engine.add([file("a.png", 3)], "/photos");
    await browser.until(() => page.idle);
    expect(browser.server.times("PUT", /\/raw\//)).toBe(6);
    expect(page.items[0]!.state).toBe("error");
    browser.server.fault = () => undefined;
    page.engine.retry();
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "done" });
  });

  test("other refusals fail at once, and hold up no other file", async () => {
    browser.server.fault = (method, path) =>
      method === "POST" && path.endsWith("/folder") ? { status: 403, code: "FORBIDDEN" } : undefined;
    await page.engine.add([file("x/a.png", 3), file("b.png", 3)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "x/a.png": "FORBIDDEN", "b.png": "done" });
    expect(browser.server.times("POST", /\/folder$/)).toBe(1);
  });

  test("429 holds everything back for as long as the server says", async () => {
    let busy = true;
    browser.server.fault = (_, path) =>
      busy && path.includes("/raw/")
        ? { status: 429, code: "RATE_LIMIT_EXCEEDED", headers: { "Retry-After": "30" } }
        : undefined;
    await page.engine.add([file("a.png", 3), file("b.png", 3)], "/photos");
    await browser.pass(1000);
    busy = false;
    const before = browser.server.calls.length;
    await browser.pass(25_000);
    expect(browser.server.calls.length).toBe(before);
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "done", "b.png": "done" });
  });

  test("without a network it waits, however long, and goes on when there is one", async () => {
    browser.network.onLine = false;
    browser.server.fault = () => (browser.network.onLine ? undefined : "cut");
    await page.engine.add([file("a.png", 3)], "/photos");
    await browser.pass(3_600_000);
    expect(browser.server.calls).toHaveLength(0);
    browser.network.onLine = true;
    page.window.dispatchEvent(new Event("online"));
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "done" });
  });

  test("a service that is away is waited for, however long", async () => {
    let there = false;
    browser.server.fault = () => (there ? undefined : "cut");
    await page.engine.add([file("a.png", 3)], "/photos");
    await browser.pass(3_600_000);
    expect(page.items[0]!.state).toBe("starting");
    there = true;
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "done" });
  });

  test("what breaks while the service answers is told", async () => {
    browser.server.fault = (_, path) => (path.includes("/raw/") ? "cut" : undefined);
    await page.engine.add([file("a.png", 3)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "NETWORK" });
    expect(browser.server.times("PUT", /\/raw\//)).toBe(6);
  });

  test("a connection on which nothing moves counts as broken", async () => {
    let first = true;
    browser.server.fault = (_, path) => {
      if (!path.includes("/raw/") || !first) return undefined;
      first = false;
      return "hang";
    };
    await page.engine.add([file("a.png", 3)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "done" });
  });

  test("a completion that was carried out but not heard of is no second file", async () => {
    let first = true;
    browser.server.fault = (_, path) => {
      if (!path.endsWith("/upload-complete") || !first) return undefined;
      first = false;
      return "lost";
    };
    await page.engine.add([file("a.png", 3)], "/photos");
    await browser.until(() => page.idle);
    expect([...browser.server.files.keys()]).toEqual(["/photos/a.png"]);
    expect(page.states).toEqual({ "a.png": "done" });
  });

  test.each(["SESSION_REVOKED", "INVALID_TOKEN"])("%s is signed in to again, and it goes on", async (code) => {
    let out = true;
    page.api.listen({
      paused: () => undefined,
      reached: () => undefined,
      accountChanged: () => undefined,
      sessionLost: async () => {
        out = false;
        return true;
      },
    });
    browser.server.fault = (_, path) => (out && path.includes("/raw/") ? { status: 401, code } : undefined);
    await page.engine.add([file("a.png", 3)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "done" });
    expect(browser.server.times("GET", /csrf-token/)).toBe(2);
  });

  test("a file that was changed meanwhile says so", async () => {
    const changed = file("a.png", 3);
    changed.file.slice = () =>
      ({ arrayBuffer: () => Promise.reject(new DOMException("gone", "NotReadableError")), size: 3 }) as never;
    browser.server.fault = (_, path) => (path.includes("/raw/") ? "cut" : undefined);
    await page.engine.add([changed], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "FILE_CHANGED" });
  });
});

describe("sessions", () => {
  test("one that expires in the middle is followed by another, which has what came in", async () => {
    let cut = false;
    browser.server.fault = (_, path) => {
      if (part.test(path) && path.endsWith("/4") && !cut) {
        cut = true;
        browser.server.sessions[0]!.status = "expired";
      }
      return undefined;
    };
    await page.engine.add([file("a.mov", 40 * MiB)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.mov": "done" });
    expect(browser.server.sessions).toHaveLength(2);
    // Parts 4 and at most the one beside it were refused; none that was taken went twice.
    expect(browser.server.times("PUT", part)).toBeLessThanOrEqual(7);
    expect(browser.server.sessions[1]!.parts.size).toBe(5);
    expect(page.items[0]!.again).toBe(browser.server.times("PUT", part) - 5);
  });

  test("one that nears its end is renewed", async () => {
    browser.server.lifetime = 10 * 60_000;
    await page.engine.add([file("a.mov", 40 * MiB)], "/photos");
    await browser.until(() => page.idle);
    expect(browser.server.times("POST", /\/renew$/)).toBeGreaterThan(0);
    expect(page.states).toEqual({ "a.mov": "done" });
  });

  test("422 has a file sent once more, then it fails", async () => {
    let refusals = 1;
    browser.server.fault = (_, path) =>
      path.endsWith("/upload-complete") && refusals-- > 0 ? { status: 422, code: "OPERATION_FAILED" } : undefined;
    await page.engine.add([file("a.png", 3)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "done" });
    expect(browser.server.times("PUT", /\/raw\//)).toBe(2);
    refusals = 2;
    await page.engine.add([file("b.png", 3)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states["b.png"]).toBe("OPERATION_FAILED");
  });

  test("422 for a part that the server has lost has only that part sent again", async () => {
    let lost = false;
    browser.server.fault = (_, path) => {
      if (path.endsWith("/upload-complete") && !lost) {
        lost = true;
        browser.server.sessions[0]!.parts.delete(2);
      }
      return undefined;
    };
    await page.engine.add([file("a.mov", 24 * MiB)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.mov": "done" });
    expect(
      browser.server.calls
        .filter((call) => part.test(call.path))
        .map((call) => call.path.at(-1))
        .sort(),
    ).toEqual(["1", "2", "2", "3"]);
  });

  test("cancelling takes the session off the server", async () => {
    browser.server.fault = (_, path) => (part.test(path) ? "hang" : undefined);
    await page.engine.add([file("a.mov", 24 * MiB)], "/photos");
    await browser.pass(500);
    page.engine.cancel(page.items);
    await browser.pass(500);
    expect(browser.server.sessions[0]!.status).toBe("aborted");
    expect(page.items).toEqual([]);
    expect(page.idle).toBe(true);
  });

  test("pausing keeps what came in, and going on sends the rest", async () => {
    await page.engine.add([file("a.mov", 80 * MiB)], "/photos");
    await browser.until(() => (browser.server.sessions[0]?.parts.size ?? 0) >= 4);
    page.engine.pause(page.items[0]!);
    await browser.pass(10_000);
    const there = browser.server.sessions[0]!.parts.size;
    const sent = browser.server.times("PUT", part);
    expect(page.states).toEqual({ "a.mov": "paused" });
    expect(there).toBeLessThan(10);
    page.engine.resume(page.items[0]!);
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.mov": "done" });
    expect(browser.server.times("PUT", part) - sent).toBe(10 - there);
    expect(browser.server.sessions).toHaveLength(1);
  });

  test("pausing all ends what is under way, and all of it goes on", async () => {
    await page.engine.add(
      Array.from({ length: 8 }, (_, n) => file(`${n}.png`, 5)),
      "/photos",
    );
    await browser.pass(30);
    page.engine.pauseAll();
    const before = browser.server.files.size;
    await browser.pass(10_000);
    expect(browser.server.files.size).toBe(before);
    page.engine.resumeAll();
    await browser.until(() => page.idle);
    expect(browser.server.files.size).toBe(8);
  });
});

describe("names that are taken", () => {
  beforeEach(() => {
    for (const name of ["a.png", "b.png", "c.png"]) browser.server.files.set(`/photos/${name}`, 1);
  });

  test("each is asked for, and others go on", async () => {
    await page.engine.add([file("a.png", 7), file("b.png", 7), file("c.png", 7), file("d.png", 7)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "conflict", "b.png": "conflict", "c.png": "conflict", "d.png": "done" });
    const [a, b, c] = page.items;
    page.engine.answer(a!, "replace", false);
    page.engine.answer(b!, "rename", false);
    page.engine.answer(c!, "skip", false);
    await browser.until(() => page.idle);
    expect(Object.fromEntries(browser.server.files)).toEqual({
      "/photos/a.png": 7,
      "/photos/b.png": 1,
      "/photos/b (1).png": 7,
      "/photos/c.png": 1,
      "/photos/d.png": 7,
    });
    expect(page.items).toHaveLength(3);
  });

  test("an answer for all holds for those that come later as well", async () => {
    await page.engine.add(
      [file("a.png", 7), file("b.png", 7), file("d.png", 7), file("e.png", 7), file("c.png", 7)],
      "/photos",
    );
    await browser.until(() => page.items.some((item) => item.state === "conflict"));
    page.engine.answer(
      page.items.find((item) => item.state === "conflict")!,
      "replace",
      true,
    );
    await browser.until(() => page.idle);
    expect([...browser.server.files.values()]).toEqual([7, 7, 7, 7, 7]);
  });

  test.each([
    ["the server tells that", { id: "folder", type: "folder" }, 1],
    ["the server does not tell that", undefined, 2],
  ])("replacing all asks again where a folder has the name: %s", async (_, existing, requests) => {
    browser.server.folders.add("/photos/d.png");
    if (existing) browser.server.existing.set("/photos/d.png", existing);
    const answered = () =>
      browser.server.calls.filter(
        ({ path, body }) => path.endsWith("/upload-session") && (body as { fileName: string }).fileName === "d.png",
      ).length;
    await page.engine.add([file("a.png", 7), file("d.png", 7)], "/photos");
    await browser.until(() => page.idle);
    page.engine.answer(page.items[0]!, "replace", true);
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "done", "d.png": "conflict" });
    expect(answered()).toBe(requests);
    page.engine.answer(page.items[1]!, "rename", false);
    await browser.until(() => page.idle);
    expect(browser.server.files.get("/photos/d (1).png")).toBe(7);
  });

  test("a name that is taken while the bytes go out is asked for at the end", async () => {
    browser.server.fault = (_, path) => {
      if (path.endsWith("/upload-complete")) browser.server.files.set("/photos/x.png", 1);
      return undefined;
    };
    await page.engine.add([file("x.png", 7)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "x.png": "conflict" });
    page.engine.answer(page.items[0]!, "rename", false);
    await browser.until(() => page.idle);
    expect(browser.server.files.get("/photos/x (1).png")).toBe(7);
  });
});

describe("names that are taken by the same file", () => {
  // of `the words`
  const sum = "6ad71a0b2081adc8a0730fab6c56be70cdf99fac2a7e27aa8ff5d49a92490abf";
  const words = () => ({ file: new File(["the words"], "a.txt", { lastModified: mtime }), relPath: "a.txt" });
  const there = (how: object) => browser.server.existing.set("/photos/a.txt", { id: "old", name: "a.txt", ...how });

  beforeEach(() => browser.server.files.set("/photos/a.txt", 9));

  test("the file is left out, and the entry of the item is that of the existing file", async () => {
    there({ size: 9, sha256: sum });
    const done = vi.fn();
    await page.engine.add([words(), file("b.png", 7)], "/photos", { done });
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.txt": "done", "b.png": "done" });
    expect(page.items.map(({ same }) => same)).toEqual([true, false]);
    expect(page.items[0]!.entry).toMatchObject({ id: "old" });
    expect(done).toHaveBeenCalledWith(expect.objectContaining({ id: "old" }));
    expect(browser.server.times("PUT", /\/raw\//)).toBe(1);
    expect(page.done).toEqual(["b.png"]);
  });

  test("the file is left out also after an answer for all", async () => {
    there({ size: 9, sha256: sum });
    const others = ["b.png", "c.png", "d.png"].map((name) => file(name, 7)); // they keep the file waiting
    await page.engine.add([...others, words()], "/photos");
    page.items[0]!.batch.answer = "rename";
    await browser.until(() => page.idle);
    expect(page.items.map(({ same }) => same)).toEqual([false, false, false, true]);
  });

  test.each([
    ["another content", { size: 9, sha256: sum.replace("0", "1") }],
    ["another size", { size: 10, sha256: sum }],
    ["a sum that is not known", { size: 9 }],
  ])("%s is a conflict, which tells of the file", async (_, how) => {
    there(how);
    await page.engine.add([words()], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.txt": "conflict" });
    expect(page.items[0]!.existing).toMatchObject({ id: "old", ...how });
  });
});

describe("when the storage is used up", () => {
  test("the queue stops, and goes on when somebody says so", async () => {
    browser.server.quota = 10;
    await page.engine.add(
      [file("a.png", 100), ...Array.from({ length: 9 }, (_, n) => file(`${n}.png`, 100))],
      "/photos",
    );
    await browser.pass(5000);
    expect(page.engine.stopped?.code).toBe("QUOTA_EXCEEDED");
    expect(browser.server.times("POST", /upload-session$/)).toBeLessThanOrEqual(3);
    browser.server.quota = 1000;
    page.engine.resumeAll();
    await browser.until(() => page.idle);
    expect(browser.server.files.size).toBe(10);
    expect(page.engine.stopped).toBeUndefined();
  });

  test("a proxy that takes no such bodies stops it as well", async () => {
    browser.server.fault = (_, path) => (path.includes("/raw/") ? { status: 413 } : undefined);
    await page.engine.add([file("a.png", 100)], "/photos");
    await browser.pass(5000);
    expect(page.engine.stopped?.status).toBe(413);
  });
});

describe("straight to the store", () => {
  beforeEach(() => (browser.server.mode = "presigned"));

  test("bytes go there, and nowhere else", async () => {
    await page.engine.add([file("a.png", 7), file("b.mov", 24 * MiB)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "done", "b.mov": "done" });
    expect(
      browser.server.calls.filter((call) => call.method === "PUT").every((call) => call.path.startsWith(store)),
    ).toBe(true);
  });

  test.each(["cut", "hidden"] as const)(
    "a store that cannot be reached (%s) is given up for the service",
    async (how) => {
      browser.server.exposed = how !== "hidden";
      browser.server.fault = (_, path) => (how === "cut" && path.startsWith(store) ? "cut" : undefined);
      const direct = () => browser.server.calls.filter((call) => call.path.startsWith(store)).length;
      await page.engine.add([file("a.png", 7)], "/photos");
      await browser.until(() => page.idle);
      expect(page.states).toEqual({ "a.png": "done" });
      expect(browser.server.sessions).toHaveLength(1);
      expect(direct()).toBe(1);
      await page.engine.add([file("b.mov", 24 * MiB), file("c.png", 1)], "/photos");
      await browser.until(() => page.idle);
      expect(page.states).toEqual({ "a.png": "done", "b.mov": "done", "c.png": "done" });
      expect(direct()).toBe(1);
    },
  );

  test("a network that fails altogether is not the store's fault", async () => {
    let down = true;
    browser.server.fault = (method) => (down && method === "PUT" ? "cut" : undefined);
    await page.engine.add([file("a.png", 7)], "/photos");
    await browser.until(() => browser.server.times("PUT", /\/raw\//) >= 2);
    expect(page.stores.unreachable(`${store}/x`)).toBe(false);
    down = false;
    await browser.until(() => page.idle);
    expect(page.states).toEqual({ "a.png": "done" });
  });

  test("a store that has worked before gets its own repetitions", async () => {
    await page.engine.add([file("a.png", 7)], "/photos");
    await browser.until(() => page.idle);
    let cuts = 3;
    browser.server.fault = (_, path) => (path.startsWith(store) && cuts-- > 0 ? "cut" : undefined);
    await page.engine.add([file("b.png", 7)], "/photos");
    await browser.until(() => page.idle);
    expect(browser.server.times("PUT", /\/raw\//)).toBe(0);
    expect(page.states["b.png"]).toBe("done");
  });

  test("an address that the store refuses costs one file its direct way, not all", async () => {
    let refused = false;
    browser.server.fault = (_, path) => {
      if (!path.startsWith(store) || refused) return undefined;
      refused = true;
      return { status: 403 };
    };
    await page.engine.add([file("a.png", 7)], "/photos");
    await browser.until(() => page.idle);
    expect(page.states["a.png"]).toBe("done");
    expect(page.stores.unreachable(`${store}/x`)).toBe(false);
  });
});
