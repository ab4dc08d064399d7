import { beforeAll, expect, test, vi } from "vitest";
import type * as Browser from "../src/routes/files/browser.svelte";
import type { Entry } from "../src/lib/entry";
import { shownPicture } from "../src/lib/pictures";

let browser: typeof Browser;

beforeAll(async () => {
  vi.stubGlobal("location", new URL("https://larder.test/app/files"));
  vi.stubGlobal("matchMedia", () => new EventTarget());
  browser = await import("../src/routes/files/browser.svelte");
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
  const image = { id: "1", type: "file", mimeType: "image/png", hasPassword: false } as Entry;
  const folder = { id: "2", type: "folder" } as Entry;
  for (const coverUrl of own) {
    expect(browser.pictureOf({ ...folder, coverUrl }, 160)).toBe(coverUrl);
    expect(browser.pictureOf({ ...image, coverUrl }, 160)).toBe(coverUrl);
  }
  for (const coverUrl of foreign) {
    expect(browser.pictureOf({ ...folder, coverUrl }, 160)).toBe("");
    expect(browser.pictureOf({ ...image, coverUrl }, 320)).toBe("/api/files/1/thumbnail?size=320");
  }
});
