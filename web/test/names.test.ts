import { expect, test, vi } from "vitest";
import { baseLength, extension, fileKind, graphemes, halves } from "../src/lib/names";

test("the extension is what is behind the last dot", () => {
  expect(["a.JPG", "a.tar.gz", ".profile", "a.", "a", "湖.png"].map(extension)).toEqual([
    "jpg",
    "gz",
    "",
    "",
    "",
    "png",
  ]);
  expect(baseLength("photo.final.jpg")).toBe("photo.final".length);
  expect(baseLength(".profile")).toBe(8);
});

test("a name is cut before its end, and never within a character", () => {
  expect(halves("Quarterly report, final.pdf")).toEqual(["Quarterly report, f", "inal.pdf"]);
  expect(halves("short.txt")).toEqual(["short", ".txt"]);
  expect(halves("2026年度财务报告最终修改稿.xlsx")).toEqual(["2026年度财务报告最终修", "改稿.xlsx"]);
  expect(halves("设计稿.psd")).toEqual(["设计稿", ".psd"]);
  expect(halves("no extension")).toEqual(["no exten", "sion"]);
  expect(halves(`a.${"x".repeat(15)}`)).toEqual(["a", `.${"x".repeat(15)}`]);
  expect(halves(`a.${"x".repeat(16)}`)).toEqual([`a.${"x".repeat(16)}`, ""]);
  const family = "👨‍👩‍👧‍👦";
  expect(halves(`holiday by the sea ${family}123.jpg`)).toEqual(["holiday by the sea ", `${family}123.jpg`]);
  for (const name of ["no extension at all here", "x".repeat(255), "a.very-long-extension-that-is-none"])
    expect(halves(name).join("")).toBe(name);
});

test.each(["مرحبا بالعالم كله.txt", "IMG שלום לכולם 2026.png", "report for فاطمة, final.pdf"])(
  "%s, of which some is written from right to left, is cut before its extension",
  (name) => expect(halves(name)).toEqual([name.slice(0, -4), name.slice(-4)]),
);

test("characters are those that a reader sees, also in a browser without a segmenter", async () => {
  const text = "e\u0301👨‍👩‍👧‍👦👍🏽🇩🇪🇫🇷❤️湖a";
  const seen = ["e\u0301", "👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "🇫🇷", "❤️", "湖", "a"];
  expect(graphemes(text)).toEqual(seen);
  vi.stubGlobal("Intl", { ...Intl, Segmenter: undefined });
  vi.resetModules();
  const without = await import("../src/lib/names");
  expect(without.graphemes(text)).toEqual(seen);
  vi.unstubAllGlobals();
});

test("what kind of file it is of", () => {
  expect(fileKind("a.bin", "image/png")).toBe("image");
  expect(fileKind("main.go", "text/plain")).toBe("code");
  expect(fileKind("x", "application/pdf")).toBe("pdf");
  expect(fileKind("x", "text/plain")).toBe("text");
  expect(fileKind("constructor", "application/octet-stream")).toBe("file");
  expect(fileKind("a.constructor")).toBe("file");
});
