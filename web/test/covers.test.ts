import { beforeAll, expect, test, vi } from "vitest";
import type * as Covers from "../src/lib/covers";
import type { Source } from "../src/lib/source/source";

let { coversOf, hasCovers } = {} as typeof Covers;

beforeAll(async () => {
  vi.stubGlobal("location", new URL("https://larder.test/app/files"));
  ({ coversOf, hasCovers } = await import("../src/lib/covers"));
});

const source = { cover: (id: string, size: number) => `${id} of ${size}` } as unknown as Source;
const folder = (covers?: string[], coverUrl: string | null = null) => ({
  type: "folder" as const,
  coverUrl,
  ...(covers && { covers }),
});

test("one picture fills the tile, and several share it", () => {
  expect(coversOf(source, folder(["a"]), 200, 1)).toEqual(["a of 320"]);
  expect(coversOf(source, folder(["a", "b", "c", "d"]), 200, 1)).toEqual([
    "a of 160",
    "b of 160",
    "c of 160",
    "d of 160",
  ]);
  expect(coversOf(source, folder(), 200, 1)).toEqual([]);
});

test("the chosen cover comes before the pictures, unless it is of another origin", () => {
  expect(coversOf(source, folder(["a"], "/public/x.png"), 200, 1)).toEqual(["/public/x.png"]);
  expect(coversOf(source, folder([], "https://elsewhere.example/x.png"), 200, 1)).toEqual([]);
});

test("files, and folders of a source without thumbnails, have no covers", () => {
  expect(coversOf(source, { ...folder(["a"]), type: "file" }, 200, 1)).toEqual([]);
  expect(coversOf({} as Source, folder(["a"]), 200, 1)).toEqual([]);
});

test("whether pictures stand for an entry", () => {
  expect(hasCovers(folder(["a"]))).toBe(true);
  expect(hasCovers(folder(undefined, "/public/x.png"))).toBe(true);
  expect(hasCovers(folder([]))).toBe(false);
  expect(hasCovers(folder(undefined, "https://elsewhere.example/x.png"))).toBe(false);
  expect(hasCovers({ ...folder(["a"]), type: "file" })).toBe(false);
});
