/** The modules of the page, as their imports lead to them. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const statics = /(?:from|^\s*import)\s+"(\.[^"]+)"/gm;
const lazies = /\bimport\("(\.[^"]+)"\)/g;

/** The path of the module that an import in a file names; undefined for one that is no code. */
export function moduleAt(file: string, to: string): string | undefined {
  const path = join(dirname(file), to);
  return [path, `${path}.ts`, `${path}/index.ts`].find((one) => /\.(svelte|ts|js)$/.test(one) && existsSync(one));
}

/** The sources of modules and of all that they import, by path; texts are left out. */
export function modulesFrom(paths: readonly string[], { lazy }: { lazy: boolean }): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (path: string | undefined) => {
    if (!path || found.has(path) || path.startsWith("src/messages/")) return;
    const text = readFileSync(path, "utf8").replaceAll(/import type [^;]+;/g, "");
    found.set(path, text);
    for (const [, to] of text.matchAll(statics)) visit(moduleAt(path, to!));
    if (lazy) for (const [, to] of text.matchAll(lazies)) visit(moduleAt(path, to!));
  };
  for (const path of paths) visit(path);
  return found;
}
