import { beforeAll, expect, test, vi } from "vitest";
import type * as Bulk from "../src/lib/bulk";
import type * as LinkTexts from "../src/lib/linkTexts";
import type * as Appearance from "../src/lib/appearance";
import type * as Markdown from "../src/lib/markdown";
import type * as Preview from "../src/lib/preview";
import type { Entry } from "../src/lib/entry";
import type * as Account from "../src/lib/source/account";
import { parts } from "../src/lib/parts";
import { decode } from "../src/lib/text";
import { fit, fitted, within, zoomTo } from "../src/lib/zoom";

let bulk: typeof Bulk;
let links: typeof LinkTexts;
let appearance: typeof Appearance;
let markdown: typeof Markdown;
let preview: typeof Preview;
let account: typeof Account.account;

beforeAll(async () => {
  vi.stubGlobal("location", new URL("http://larder.test/app/files"));
  vi.stubGlobal("history", { state: null, replaceState: () => undefined });
  vi.stubGlobal("matchMedia", () => new EventTarget());
  vi.stubGlobal("history", { state: { key: "first", above: false } });
  bulk = await import("../src/lib/bulk");
  links = await import("../src/lib/linkTexts");
  appearance = await import("../src/lib/appearance");
  markdown = await import("../src/lib/markdown");
  preview = await import("../src/lib/preview");
  ({ account } = await import("../src/lib/source/account"));
});

const bytes = (...values: number[]) => new Uint8Array(values);

test("text is read as UTF-8, UTF-16 by its mark, or GB18030, and never from bytes that are none", () => {
  expect(decode(new TextEncoder().encode("你好 ok"))).toBe("你好 ok");
  expect(decode(bytes(0xef, 0xbb, 0xbf, 0x61))).toBe("a");
  expect(decode(bytes(0xc4, 0xe3, 0xba, 0xc3))).toBe("你好");
  expect(decode(bytes(0xff, 0xfe, 0x60, 0x4f))).toBe("你");
  expect(decode(bytes(0xfe, 0xff, 0x4f, 0x60))).toBe("你");
  expect(decode(bytes(0x61, 0, 0x62))).toBeUndefined();
  expect(decode(bytes())).toBe("");
});

test.each([
  ["é", 1],
  ["你", 1],
  ["你", 2],
  ["🙂", 1],
  ["🙂", 2],
  ["🙂", 3],
])("a text is UTF-8 if its last character, %s, is cut after %i bytes", (last, left) => {
  const start = new TextEncoder().encode("你好 ok ");
  expect(decode(bytes(...start, ...new TextEncoder().encode(last).subarray(0, left)))).toBe("你好 ok \ufffd");
});

test.each([
  ["a.png", "image/png", "image"],
  ["a.svg", "image/svg+xml", "image"],
  ["a.svg", "image/svg+xml; charset=utf-8", "image"],
  ["a.html", "text/html", "code"],
  ["a.html", "text/html; charset=utf-8", "code"],
  ["a.pdf", "application/pdf", "pdf"],
  ["a.PDF", "application/x-pdf", "none"],
  ["a.mp4", "video/mp4", "video"],
  ["a.ts", "video/mp2t", "code"],
  ["a.MD", "application/octet-stream", "markdown"],
  ["Makefile", "application/octet-stream", "text"],
  ["a.json", "application/json", "code"],
  ["a.unknown", "text/x-anything", "text"],
  ["a.zip", "application/zip", "none"],
  ["a", undefined, "none"],
])("%s of type %s is shown as %s", (name, mimeType, kind) => {
  expect(preview.kindOf({ type: "file", name, size: 1, ...(mimeType && { mimeType }) })).toBe(kind);
});

test("a drawing is shown as a picture up to 1 MiB, and as text above", () => {
  const drawing = { type: "file", name: "a.svg", mimeType: "image/svg+xml" } as const;
  expect(preview.kindOf({ ...drawing, size: 1 << 20 })).toBe("image");
  expect(preview.kindOf({ ...drawing, size: (1 << 20) + 1 })).toBe("code");
});

test("a folder is shown as nothing, whatever its name ends in", () => {
  expect(preview.kindOf({ type: "folder", name: "a.png", mimeType: "image/png", size: 0 })).toBe("none");
});

test("the bytes of a file have an address of which every segment is encoded", () => {
  expect(account.content({ path: "/照 片/a#b", name: "50%?.png" } as Entry)).toBe(
    "/%E7%85%A7%20%E7%89%87/a%23b/50%25%3F.png",
  );
  expect(account.content({ path: "/", name: "a.png" } as Entry)).toBe("/a.png");
});

// Nothing that a file says makes a link that runs, and none that asks our own interface for
// something.
test.each([
  ["javascript:alert(1)", undefined],
  ["JaVaScRiPt:alert(1)", undefined],
  ["java\nscript:alert(1)", undefined],
  [" javascript:alert(1)", undefined],
  ["vbscript:x", undefined],
  ["data:text/html,<script>", undefined],
  ["blob:http://larder.test/1", undefined],
  ["file:///etc/passwd", undefined],
  ["#heading", undefined],
  ["/api/auth/logout", undefined],
  ["/API/x", undefined],
  ["../../api/files/zip?ids=1", undefined],
  ["/app/login", undefined],
  ["//evil.test/x", "http://evil.test/x"],
  ["/\\evil.test/x", "http://evil.test/x"],
  ["https://example.com/a?b=c", "https://example.com/a?b=c"],
  ["mailto:a@example.com", "mailto:a@example.com"],
  ["b.png", "/notes/2026/b.png"],
  ["../c.png?x=1", "/notes/c.png"],
  ["/public/d.png", "/public/d.png"],
])("a link to %j in a Markdown file leads to %j", (href, to) => {
  expect(markdown.target(href, "/notes/2026/read.md")).toBe(to);
});

test.each([
  ["b.png", undefined],
  ["/public/d.png", undefined],
  ["https://example.com/a?b=c", "https://example.com/a?b=c"],
])("a link to %j in a Markdown file without an address leads to %j", (href, to) => {
  expect(markdown.target(href, undefined)).toBe(to);
});

test("the pictures of a Markdown file without an address are those of its tree, by their paths", () => {
  const text =
    "![a](b.png) ![b](../c%20d.png 'title') ![c](</e/f g.png>) ![d](../../../../up.png) ![e](%2e%2e/x%2Fy.png) " +
    "![f](https://example.com/a.png) ![g](javascript:alert(1)) ![h](%ff.png) ![i](//example.com/b.png) ![j](#k)";
  const paths = ["/n/b.png", "/c d.png", "/e/f g.png", "/up.png", "/x/y.png"];
  expect(markdown.picturesIn(text, "/n/read.md")).toEqual(paths);
});

const plain = { width: 0, linked: false } as const;
const small = { width: 640, linked: true } as const;

test("a smaller picture leads to the original", () => {
  const url = "http://h/api/i/abc.png";
  expect(links.written(url, { name: "a.png", mimeType: "image/png" }, small)).toEqual({
    direct: `${url}/thumbnail?size=640`,
    html: `<a href="${url}"><img src="${url}/thumbnail?size=640" alt="a.png"></a>`,
    markdown: `[![a.png](${url}/thumbnail?size=640)](${url})`,
    bbcode: `[url=${url}][img]${url}/thumbnail?size=640[/img][/url]`,
  });
  const large = { width: 1280, linked: false } as const;
  expect(links.written(url, { name: "a.png", mimeType: "image/png" }, large).html).toBe(
    `<img src="${url}/thumbnail?size=1280" alt="a.png">`,
  );
  // no server is sure to make smaller pictures of these
  expect(links.written(url, { name: "a.svg", mimeType: "image/svg+xml" }, small).direct).toBe(url);
});

test("names break out of no format of a link", () => {
  const name = '"><script>](x)[/img].png';
  const image = links.written("http://h/api/i/abc.png", { name, mimeType: "image/png" }, plain);
  expect(image.html).toBe('<img src="http://h/api/i/abc.png" alt="&#34;&gt;&lt;script&gt;](x)[/img].png">');
  expect(image.markdown).toBe('!["\\>\\<script\\>\\]\\(x\\)\\[/img\\].png](http://h/api/i/abc.png)');
  expect(image.bbcode).toBe("[img]http://h/api/i/abc.png[/img]");
  const other = links.written("http://h/api/i/abc.bin", { name: "a [b]", mimeType: "application/zip" }, small);
  expect(other.bbcode).toBe("[url=http://h/api/i/abc.bin]a ［b］[/url]");
  expect(other.html).toBe('<a href="http://h/api/i/abc.bin">a [b]</a>');
});

test("what is asked for in batches comes in parts of a hundred", () => {
  const all = Array.from({ length: 250 }, (_, n) => n);
  expect(parts(all).map((part) => part.length)).toEqual([100, 100, 50]);
  expect(parts(all).flat()).toEqual(all);
  expect(parts([])).toEqual([]);
});

test("a copy in the same folder is named as the server names it", () => {
  expect(bulk.copyName({ name: "cat.jpg", type: "file" })).toBe("cat (1).jpg");
  expect(bulk.copyName({ name: ".env", type: "file" })).toBe(".env (1)");
  expect(bulk.copyName({ name: "v1.2", type: "folder" })).toBe("v1.2 (1)");
});

test("there are twelve colours and forty emoji, none twice, and signs are counted as people do", () => {
  expect(new Set(appearance.swatches).size).toBe(12);
  expect(new Set(appearance.emoji).size).toBe(40);
  expect(appearance.firstSign(" 👩‍👩‍👧‍👦x")).toBe("👩‍👩‍👧‍👦");
  expect(appearance.firstSign("🗂️📦")).toBe("🗂️");
  expect(appearance.firstSign("")).toBe("");
});

const stage = { width: 1000, height: 500 };

test("a picture fits, and a small one is not blown up", () => {
  expect(fit({ width: 2000, height: 500 }, stage, false)).toEqual({ width: 1000, height: 250 });
  expect(fit({ width: 100, height: 100 }, stage, false)).toEqual({ width: 100, height: 100 });
  expect(fit({ width: 500, height: 250 }, stage, true)).toEqual({ width: 1000, height: 500 });
});

test("what is under the pointer stays there, and no more is beside a picture than has to be", () => {
  const box = { width: 1000, height: 500 };
  const view = zoomTo(fitted, 2, { x: 100, y: 50 }, box, stage);
  expect(view).toEqual({ scale: 2, x: -100, y: -50 });
  const back = zoomTo(view, 1, { x: 0, y: 0 }, box, stage);
  expect([back.scale, Math.abs(back.x), Math.abs(back.y)]).toEqual([1, 0, 0]);
  expect(within({ scale: 2, x: 9000, y: -9000 }, box, stage)).toEqual({ scale: 2, x: 500, y: -250 });
  expect(zoomTo(fitted, 0.1, { x: 0, y: 0 }, box, stage).scale).toBe(1);
});
