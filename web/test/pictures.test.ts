import { beforeAll, expect, test, vi } from "vitest";
import type { Entry } from "../src/lib/entry";
import type * as Pictures from "../src/lib/pictures";
import type * as Account from "../src/lib/source/account";

let account: typeof Account.account;
let { fitOf, pictureOf, shownPicture, sizeFor } = {} as typeof Pictures;

beforeAll(async () => {
  vi.stubGlobal("location", new URL("https://larder.test/app/files"));
  vi.stubGlobal("history", { state: null, replaceState: () => undefined });
  ({ fitOf, pictureOf, shownPicture, sizeFor } = await import("../src/lib/pictures"));
  ({ account } = await import("../src/lib/source/account"));
});

const own = [
  "/api/files/1/thumbnail?size=640",
  "/public/cover.png",
  "https://larder.test/public/cover.png",
  "HTTPS://Larder.test:443/public/cover.png",
];
const foreign = [
  "https://elsewhere.example/pixel.png",
  "http://larder.test/public/cover.png",
  "https://larder.test:8443/public/cover.png",
  "https://larder.test.elsewhere.example/a.png",
  "https://larder.test@elsewhere.example/a.png",
  "//elsewhere.example/a.png",
  "/\\elsewhere.example/a.png",
  "data:image/png;base64,AA==",
  "blob:https://larder.test/1",
  "javascript:alert(1)",
  "https://",
];

test("a picture of another origin is not shown: its server would learn who looks", () => {
  expect(own.map(shownPicture)).toEqual(own);
  expect(foreign.map(shownPicture)).toEqual(foreign.map(() => ""));
  expect([null, undefined, ""].map(shownPicture)).toEqual(["", "", ""]);
});

test("an entry with a cover of another origin looks as one without a cover", () => {
  const image = { id: "1", type: "file", mimeType: "image/png", hasPassword: false, updatedAt: 5 } as Entry;
  const folder = { id: "2", type: "folder" } as Entry;
  for (const coverUrl of own) {
    expect(pictureOf(account, { ...folder, coverUrl }, 160)).toBe(coverUrl);
    expect(pictureOf(account, { ...image, coverUrl }, 160)).toBe(coverUrl);
  }
  for (const coverUrl of foreign) {
    expect(pictureOf(account, { ...folder, coverUrl }, 160)).toBe("");
    expect(pictureOf(account, { ...image, coverUrl }, 320)).toBe("/api/files/1/thumbnail?size=320&changed=5");
  }
});

test("a drawing is its own thumbnail up to 256 KiB, for those who may download it", () => {
  const drawing = { id: "1", type: "file", mimeType: "image/svg+xml", path: "/a", name: "b.svg", hasPassword: false };
  const entry = { ...drawing, permissions: ["read", "download"] } as Entry;
  expect(pictureOf(account, { ...entry, size: 256 << 10 }, 320)).toBe("/a/b.svg");
  expect(pictureOf(account, { ...entry, size: (256 << 10) + 1 }, 320)).toBe("");
  expect(pictureOf(account, { ...entry, size: 1, permissions: ["read"] }, 320)).toBe("");
  expect(pictureOf(account, { ...entry, size: 1, hasPassword: true }, 320)).toBe("");
});

test("a thumbnail has the pixels that a tile of its width covers", () => {
  expect([32, 176, 237, 238, 400].map((width) => sizeFor(width, 1))).toEqual([160, 320, 320, 640, 640]);
  expect([32, 176, 237, 238].map((width) => sizeFor(width, 2))).toEqual([160, 640, 640, 1280]);
  expect(sizeFor(3000, 2)).toBe(2048);
});

test("a picture covers its tile, unless it is small or a panorama", () => {
  const tile = { width: 176, height: 132 };
  const fits = (width: number, height: number) => fitOf({ width, height }, tile);
  expect([fits(175, 131), fits(176, 131), fits(175, 132)]).toEqual(["none", "cover", "cover"]);
  expect([fits(440, 200), fits(441, 200), fits(200, 440), fits(200, 441)]).toEqual([
    "cover",
    "contain",
    "cover",
    "contain",
  ]);
});
