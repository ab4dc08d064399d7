/**
 * One contract for all sources of entries, against the real service. e2e/sources_test.go starts it,
 * fills it, and runs this file with what LARDER_SOURCES says: where, and with which rights.
 */
import { describe, expect, test, vi } from "vitest";
import type { Entry } from "../src/lib/entry";
import type { Reader, Source, Wanted } from "../src/lib/source/source";

/** What the Go test has prepared; the folder has the same content everywhere. */
interface Stage {
  base: string;
  username: string;
  password: string;
  /** The folder in the tree. */
  folder: string;
  /** The id of a share of that folder. */
  share: string;
  /** A bucket with that folder, by its name alone, and one of many files. */
  bucket: Record<string, string>;
  many: { path: string; files: number };
}
const stage = JSON.parse(process.env.LARDER_SOURCES!) as Stage;

// A browser as far as the sources need it: addresses within the site, and cookies of its own.
let cookies: string[] = [];
let csrf = "";
vi.stubGlobal("location", { origin: stage.base, href: `${stage.base}/app/files`, pathname: "/app/files", search: "" });
vi.stubGlobal("history", { state: null, replaceState: () => undefined });
vi.stubGlobal("window", { addEventListener: () => undefined });
const real = globalThis.fetch;
vi.stubGlobal("fetch", async (address: string, how: RequestInit = {}) => {
  const headers = new Headers(how.headers);
  headers.set("Cookie", cookies.join("; "));
  headers.set("Origin", stage.base);
  if (csrf) headers.set("X-CSRF-Token", csrf);
  const answer = await real(new URL(address, stage.base), { ...how, headers, redirect: "follow" });
  cookies.push(...answer.headers.getSetCookie().map((line) => line.slice(0, line.indexOf(";"))));
  return answer;
});

const { account, guests } = await import("../src/lib/source/account");
const { administration } = await import("../src/lib/source/administration");
const { bucket } = await import("../src/lib/source/bucket");
const { shared } = await import("../src/lib/source/share");
const { client, Failure, take } = await import("../src/lib/api");
const { Listing } = await import("../src/lib/listing.svelte");
const { folderChanged } = await import("../src/lib/upload/changes");

const folders = ["tale-east", "tale-west"];
/** The files of the folder; the content of a text is its name, as often as its number says. */
const sizes: Record<string, number> = { "tale-1.txt": 1, "tale-2.txt": 2, "tale-3.txt": 3, "tale-4.txt": 4 };
const files = [...Object.keys(sizes), "tale-photo.jpg"];

interface Given {
  source: Source;
  /** What lists the folder. */
  wanted: Wanted;
  /** The path that its entries name as their folder. */
  folder: string;
  enter?: () => Promise<unknown>;
  /** Why a folder that does not exist cannot be listed; undefined where no such error exists. */
  missing?: string;
  /** Whether pictures have thumbnails. */
  pictures: boolean;
}

const signIn = () =>
  take(client.POST("/api/auth/login", { body: { username: stage.username, password: stage.password } }));
const inside: Wanted = { path: stage.folder, search: "" };

const sources: Record<string, Given> = {
  account: {
    source: account,
    wanted: inside,
    folder: stage.folder,
    enter: signIn,
    missing: "NOT_FOUND",
    pictures: true,
  },
  administration: {
    source: administration,
    wanted: { path: "/", search: "tale-" },
    folder: stage.folder,
    enter: signIn,
    pictures: true,
  },
  guests: { source: guests, wanted: inside, folder: stage.folder, missing: "NOT_FOUND", pictures: true },
  share: {
    source: shared({ id: stage.share, allowPreview: true, allowDownload: true }),
    wanted: { path: "/", search: "" },
    folder: "/",
    missing: "NOT_FOUND",
    pictures: true,
  },
  bucket: {
    source: bucket,
    wanted: { path: "/tales", search: "" },
    folder: "/tales",
    enter: async () => {
      const body = stage.bucket as never;
      ({ csrfToken: csrf } = await take(client.POST("/api/free-mode/init", { body })));
    },
    pictures: false,
  },
};

const kindsOf = ({ split }: Reader) => (split ? (["folder", "file"] as const) : (["file"] as const));

/** All entries of a listing, in pages. */
async function all({ source, wanted }: Given, limit: number, signal = AbortSignal.timeout(60_000)): Promise<Entry[]> {
  const reader = source.read(wanted);
  const found: Entry[] = [];
  for (const kind of kindsOf(reader)) {
    for (let nth = 0, total = 1; nth * limit < total; nth++) {
      const page = await reader.page(kind, nth, limit, signal);
      expect(page.items.length).toBeLessThanOrEqual(limit);
      found.push(...page.items);
      total = page.total;
      if (!page.open) expect(page.total).toBeGreaterThanOrEqual(nth * limit + page.items.length);
    }
  }
  return found;
}

const names = (entries: readonly Entry[]) => entries.map(({ name }) => name);
const bytes = async (address: string) => {
  const answer = await fetch(address);
  expect(answer.status, address).toBe(200);
  return answer;
};

describe.each(Object.entries(sources))("%s", (name, given) => {
  const { source } = given;
  const one = async (file: string) => {
    const entry = (await all(given, source.most)).find((entry) => entry.name === file);
    if (!entry) throw new Error(`${file} is not listed`);
    return entry;
  };

  test("can be entered", async () => {
    cookies = [];
    csrf = "";
    await given.enter?.();
  });

  test.each([1, 3, source.most])("lists each entry once, in pages of %d", async (limit) => {
    const found = await all(given, limit);
    expect(names(found).sort()).toEqual([...folders, ...files].sort());
    expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
    for (const entry of found) {
      expect(entry.path).toBe(given.folder);
      expect(entry.type).toBe(folders.includes(entry.name) ? "folder" : "file");
      if (sizes[entry.name]) expect(entry.size).toBe(sizes[entry.name]! * entry.name.length);
      expect(entry.permissions).toContain("download");
      expect(entry.hasPassword).toBe(false);
    }
  });

  test("has an empty page after the last, and knows the number of entries there", async () => {
    const reader = source.read(given.wanted);
    let total = 0;
    for (const kind of kindsOf(reader)) {
      const page = await reader.page(kind, 9, 5, AbortSignal.timeout(60_000));
      expect(page.items).toEqual([]);
      expect(page.open ?? false).toBe(false);
      total += page.total;
    }
    expect(total).toBe(folders.length + files.length);
  });

  test("sorts, if it can", async () => {
    if (!source.can.sort) return expect(source.can.sort).toBe(false);
    for (const order of ["asc", "desc"] as const) {
      const found = await all({ ...given, wanted: { ...given.wanted, sort: "size", order } }, 2);
      const texts = names(found).filter((name) => sizes[name]);
      expect(texts).toEqual(order === "asc" ? Object.keys(sizes) : Object.keys(sizes).reverse());
    }
  });

  test("searches, if it can", async () => {
    const found = await all({ ...given, wanted: { ...given.wanted, search: "LE-3" } }, 5);
    if (source.can.search) expect(names(found)).toEqual(["tale-3.txt"]);
    else expect(names(found).sort()).toEqual([...folders, ...files].sort());
  });

  test("names the content of a file, again and again, and an address to save it", async () => {
    const entry = await one("tale-2.txt");
    const content = source.content(entry);
    for (let n = 0; n < 2; n++) expect(await (await bytes(content)).text()).toBe("tale-2.txt".repeat(2));
    expect(await (await bytes(await source.download(entry))).text()).toBe("tale-2.txt".repeat(2));
  });

  test("has thumbnails of pictures alone", { timeout: 180_000 }, async () => {
    expect(source.thumbnail(await one("tale-2.txt"), 160)).toBe("");
    expect(source.thumbnail(await one("tale-east"), 160)).toBe("");
    const address = source.thumbnail(await one("tale-photo.jpg"), 160);
    if (!given.pictures) return expect(address).toBe("");
    // on a busy machine the server gives up at first, and answers 404
    const answer = await vi.waitFor(() => bytes(address), { timeout: 120_000, interval: 1000 });
    expect(answer.headers.get("Content-Type")).toMatch(/^image\//);
    const whole = (await one("tale-photo.jpg")).size;
    expect((await answer.arrayBuffer()).byteLength).toBeLessThan(whole);
  });

  test("says why a folder cannot be listed", async () => {
    const found = all({ ...given, wanted: { ...given.wanted, path: "/public/no such folder" } }, 5);
    if (!given.missing) return found;
    await expect(found).rejects.toMatchObject({ code: given.missing });
    await expect(found).rejects.toBeInstanceOf(Failure);
  });

  test("stops when the caller does", async () => {
    await expect(all(given, 5, AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
  });

  test("tells of changes until the listener goes", () => {
    const heard: string[] = [];
    const leave = source.watch((folder) => heard.push(folder));
    folderChanged("/public");
    leave();
    folderChanged("/home");
    expect(heard).toEqual(name === "share" ? [] : ["/public"]);
  });

  test("fills a listing", async () => {
    const listing = new Listing(source, given.wanted);
    await listing.ready;
    expect(listing.failed).toBeUndefined();
    listing.look(0, listing.total);
    await vi.waitFor(() => {
      const shown = Array.from({ length: listing.total }, (_, at) => listing.at(at)?.name);
      expect(shown.sort()).toEqual([...folders, ...files].sort());
    });
    await listing.refresh();
    expect(listing.total).toBe(folders.length + files.length);
    expect(names(await listing.collect([[0, listing.total]])).sort()).toEqual([...folders, ...files].sort());
    listing.close();
  });
});

test("a listing of unknown length grows as it is looked at", async () => {
  cookies = [];
  csrf = "";
  await sources.bucket!.enter!();
  const listing = new Listing(bucket, { path: stage.many.path, search: "" });
  await listing.ready;
  expect(listing.total).toBeGreaterThan(200);
  expect(listing.total).toBeLessThanOrEqual(stage.many.files);
  for (let end = 0; listing.total > end;) {
    end = listing.total;
    listing.look(end - 1, end);
    await vi.waitFor(() => expect(listing.at(end - 1)).toBeDefined());
  }
  expect(listing.total).toBe(stage.many.files);
  listing.close();
});
