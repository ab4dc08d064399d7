/** The size of the built pages, as the server sends them to a browser that takes gzip. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { expect, test } from "vitest";
import { assets, closure, languages, namedBy } from "../build/assets";

/** The size of a file in KB, compressed where the server has a compressed copy. */
function kilobytes(name: string): number {
  const file = `${assets}/${name}`;
  return statSync(existsSync(`${file}.gz`) ? `${file}.gz` : file).size / 1024;
}

function sum(names: readonly string[], extension: string): number {
  const sizes = names.filter((name) => name.endsWith(extension)).map(kilobytes);
  expect(sizes.length, `files ${extension}`).toBeGreaterThan(0);
  return sizes.reduce((total, size) => total + size, 0);
}

const firstScreen = (language: string) => closure(namedBy("index.html", ["files", language]));
const pageOfShare = (language: string) => closure(namedBy("share.html", ["share", language, `share ${language}`]));

test.each(languages)("the first screen of a user, %s", (language) => {
  const names = firstScreen(language);
  expect(names).toContainEqual(expect.stringMatching(/^core-/));
  expect(names).toContainEqual(expect.stringMatching(/^files-/));
  expect(sum(names, ".js"), "KB of scripts").toBeLessThanOrEqual(80);
  expect(sum(names, ".css"), "KB of styles").toBeLessThanOrEqual(12);
});

test.each(languages)("the page of a share, %s", (language) => {
  const names = pageOfShare(language);
  expect(names).toContainEqual(expect.stringMatching(/^Share-/));
  expect(sum(names, ".js"), "KB of scripts").toBeLessThanOrEqual(60);
});

test("a file that is loaded later", () => {
  const first = new Set(languages.flatMap((language) => [...firstScreen(language), ...pageOfShare(language)]));
  const lazy = readdirSync(assets).filter((name) => name.endsWith(".js") && !first.has(name));
  expect(lazy.length).toBeGreaterThan(0);
  const large = lazy.filter((name) => kilobytes(name) > 40).map((name) => `${name}: ${kilobytes(name).toFixed(1)} KB`);
  expect(large).toEqual([]);
});

test("the service worker", () => {
  expect(statSync("dist/sw.js").size / 1024, "KB, uncompressed").toBeLessThanOrEqual(8);
});
