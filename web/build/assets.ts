/** The files of the built pages, as their tags and imports name them. */
import { readFileSync } from "node:fs";

export const assets = "dist/assets";
export const languages = ["zh-CN", "en-US"];

/** The files in the tags of a page, and those that src/boot.js requests for some of its keys. */
export function namedBy(page: string, keys: readonly string[]): string[] {
  const html = readFileSync(`dist/${page}`, "utf8");
  const tags = [...html.matchAll(/<(?:script|link)[^>]* (?:src|href)="([^"]+)"/g)].map(([, address]) => address!);
  const files = tags.filter((address) => /\.(js|css)$/.test(address));
  const more = JSON.parse(/const files = (\{"[^\n]+\});/.exec(html)![1]!) as Record<string, string[]>;
  const requested = keys.flatMap((key) => {
    if (!more[key]) throw new Error(`${page} does not know ${key}`);
    return more[key];
  });
  return [...files, ...requested].map((address) => address.replace(/^\/app\/assets\//, ""));
}

const imports = /(?:\bfrom|\bimport)\s*["'`]\.\/([^"'`]+\.js)["'`]/g;

/** Some files with everything that they import statically. */
export function closure(names: readonly string[]): string[] {
  const found = new Set<string>();
  const visit = (name: string) => {
    if (found.has(name)) return;
    found.add(name);
    if (!name.endsWith(".js")) return;
    for (const [, to] of readFileSync(`${assets}/${name}`, "utf8").matchAll(imports)) visit(to!);
  };
  names.forEach(visit);
  return [...found];
}
