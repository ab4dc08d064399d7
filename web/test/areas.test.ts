/** Each text is loaded before a component shows it. */
import { expect, test } from "vitest";
import { messages } from "../src/messages/zh-CN";
import { moduleAt, modulesFrom } from "./modules";

const first = Object.keys(messages);

/** The areas whose texts a module and its imports show. */
function shown(path: string): string[] {
  const text = [...modulesFrom([path], { lazy: false }).values()].join("\n");
  return [...new Set([...text.matchAll(/\bt\s*\??\.(\w+)/g)].map(([, area]) => area!))].sort();
}

const all = [...modulesFrom(["src/main.ts", "src/share.ts", "kit/main.ts"], { lazy: true })];
const imports = all.flatMap(([file, text]) =>
  [...text.matchAll(/(withTexts\(\s*)?import\("(\.[^"]+)"\)((?:,\s*"\w+")*)/g)].flatMap(([, wrapped, to, areas]) => {
    const path = moduleAt(file, to!);
    const loaded = wrapped ? [...areas!.matchAll(/"(\w+)"/g)].map(([, area]) => area!) : [];
    return path && !path.startsWith("src/messages/") ? [{ file, path, loaded }] : [];
  }),
);

test.each(["src/main.ts", "src/share.ts"])("the first texts are enough for the first modules of %s", (page) => {
  expect(shown(page).filter((area) => !first.includes(area))).toEqual([]);
});

test("the modules that are loaded later are found", () => {
  expect(imports.map(({ path }) => path)).toEqual(
    expect.arrayContaining(["src/routes/Keys.svelte", "src/routes/files/FolderViewer.svelte", "kit/Kit.svelte"]),
  );
});

test.each(imports)("$file loads $path with its texts, and no others", ({ path, loaded }) => {
  expect([...loaded].sort()).toEqual(shown(path).filter((area) => !first.includes(area)));
});
