import { expect, test, vi } from "vitest";
import type { Entry } from "../src/lib/entry";
import { ViewedFile } from "../src/lib/viewed.svelte";

const entryOf = (id: string) => ({ id, name: `${id}.png`, type: "file" }) as Entry;

/** A listing of one folder and some files, of which a part is loaded. */
function listingOf(ids: string[], loaded = ids) {
  return {
    folders: 1,
    ids,
    loaded: new Set(loaded),
    looked: [] as [number, number][],
    get files() {
      return this.ids.length;
    },
    at(index: number) {
      if (index < this.folders) return { id: "folder", name: "folder", type: "folder" } as Entry;
      const id = this.ids[index - this.folders];
      return id !== undefined && this.loaded.has(id) ? entryOf(id) : undefined;
    },
    indexOf(id: string) {
      return this.loaded.has(id) && this.ids.includes(id) ? this.ids.indexOf(id) + this.folders : -1;
    },
    preload(from: number, to: number) {
      this.looked.push([from, to]);
    },
  };
}

/** The viewer of a page with an address; `there` are the files that the server knows. */
function viewerOf(there: string[] = []) {
  const page = { address: null as string | null, failed: [] as unknown[], places: [] as number[] };
  const viewed = new ViewedFile({
    request: async (id) => (there.includes(id) ? entryOf(id) : undefined),
    show: (id) => (page.address = id),
    found: (index) => page.places.push(index),
    fail: (cause, id) => page.failed.push([id, cause]),
  });
  return { page, viewed };
}

const state = ({ entry, index, previous, next, gone }: ViewedFile) => ({ id: entry?.id, index, previous, next, gone });

test("the file stays when others arrive above it", () => {
  const { page, viewed } = viewerOf();
  const listing = listingOf(["a", "b", "c"]);
  viewed.follow("b", listing);
  expect(state(viewed)).toEqual({ id: "b", index: 1, previous: 0, next: 2, gone: false });
  listing.ids = ["new1", "new2", "a", "b", "c"];
  viewed.follow("b", listing);
  expect(state(viewed)).toEqual({ id: "b", index: 3, previous: 2, next: 4, gone: false });
  expect(page.places).toEqual([2, 4]);
  viewed.turn(viewed.next, listing);
  expect(state(viewed)).toEqual({ id: "c", index: 4, previous: 3, next: -1, gone: false });
  expect(page.address).toBe("c");
});

test("a folder is no neighbour of the first file", () => {
  const { viewed } = viewerOf();
  viewed.follow("a", listingOf(["a"]));
  expect(state(viewed)).toEqual({ id: "a", index: 0, previous: -1, next: -1, gone: false });
});

test("a file that is not loaded is shown when it has arrived", () => {
  const { page, viewed } = viewerOf();
  const listing = listingOf(["a", "b", "c"], ["a"]);
  viewed.follow("a", listing);
  viewed.turn(1, listing);
  expect(state(viewed)).toEqual({ id: undefined, index: 1, previous: 0, next: 2, gone: false });
  viewed.turn(2, listing);
  expect(page.address).toBe(null);
  listing.loaded = new Set(["a", "b", "c"]);
  viewed.follow("a", listing); // the address is still that of the file before
  expect(state(viewed)).toEqual({ id: "c", index: 2, previous: 1, next: -1, gone: false });
  expect(page.address).toBe("c");
});

test("the file after a removed one follows, whether or not the listing has been read again", () => {
  const { viewed } = viewerOf();
  const listing = listingOf(["a", "b", "c"]);
  viewed.follow("b", listing);
  expect(viewed.afterRemoval(listing)).toBe(2);
  listing.ids = ["a", "c"];
  expect(viewed.afterRemoval(listing)).toBe(1);
  viewed.follow("b", listing); // the server has not answered yet whether b exists
  expect(viewed.afterRemoval(listing)).toBe(1);
  viewed.turn(1, listing);
  expect(state(viewed)).toEqual({ id: "c", index: 1, previous: 0, next: -1, gone: false });
  expect(viewed.afterRemoval(listing)).toBe(0);
  listing.ids = ["a"];
  expect(viewed.afterRemoval(listing)).toBe(0);
  viewed.turn(0, listing);
  expect(viewed.afterRemoval(listing)).toBe(-1);
  listing.ids = [];
  expect(viewed.afterRemoval(listing)).toBe(-1);
});

test("a deleted file says so, and its neighbours are those of its place", async () => {
  const { viewed } = viewerOf();
  const listing = listingOf(["a", "b", "c"]);
  viewed.follow("b", listing);
  listing.ids = ["a", "c"];
  viewed.follow("b", listing);
  expect(viewed.entry?.id).toBe("b");
  await vi.waitFor(() => expect(viewed.gone).toBe(true));
  expect(state(viewed)).toEqual({ id: "b", index: 1, previous: 0, next: 1, gone: true });
  viewed.turn(viewed.next, listing);
  expect(state(viewed)).toEqual({ id: "c", index: 1, previous: 0, next: -1, gone: false });
});

test("the last file of a folder leaves no neighbours when it is deleted", async () => {
  const { viewed } = viewerOf();
  const listing = listingOf(["a"]);
  viewed.follow("a", listing);
  listing.ids = [];
  viewed.follow("a", listing);
  await vi.waitFor(() => expect(viewed.gone).toBe(true));
  expect(state(viewed)).toEqual({ id: "a", index: 0, previous: -1, next: -1, gone: true });
});

test("a file that has moved far away is looked for, and keeps on being shown", async () => {
  const { page, viewed } = viewerOf(["b"]);
  const listing = listingOf(["a", "b", "c"]);
  viewed.follow("b", listing);
  listing.looked = [];
  const many = Array.from({ length: 300 }, (_, nth) => `new${nth}`);
  listing.ids = [...many, "a", "b", "c"];
  listing.loaded = new Set(["new0"]);
  viewed.follow("b", listing);
  // the second of 3 files, before which 300 have come, has the index 301; a folder is before it
  expect(listing.looked).toEqual([[252, 304]]);
  await vi.waitFor(() => expect(viewed.next).toBe(-1));
  expect([viewed.entry?.id, viewed.place, viewed.gone, viewed.previous]).toEqual(["b", -1, false, -1]);
  listing.loaded = new Set(listing.ids);
  viewed.follow("b", listing);
  expect(state(viewed)).toEqual({ id: "b", index: 301, previous: 300, next: 302, gone: false });
  expect(page.failed).toEqual([]);
});

test("a file of the address that is not loaded is shown alone, or not at all", async () => {
  const listing = listingOf(["a"]);
  const { page, viewed } = viewerOf(["z"]);
  viewed.follow("z", listing);
  await vi.waitFor(() => expect(viewed.entry?.id).toBe("z"));
  expect(state(viewed)).toEqual({ id: "z", index: -1, previous: -1, next: -1, gone: false });
  viewed.follow(null, listing);
  expect(viewed.entry).toBeUndefined();
  viewed.follow("y", listing);
  await vi.waitFor(() => expect(page.failed).toEqual([["y", undefined]]));
});
