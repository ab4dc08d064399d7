/** The names of folders as the user reads them. */
import { beforeAll, expect, test, vi } from "vitest";
import type * as Entries from "../src/lib/entry";

let entries: typeof Entries;
let setLocale: (to: "en-US" | "zh-CN") => Promise<void>;

beforeAll(async () => {
  vi.stubGlobal("location", new URL("http://larder.test/app/files"));
  vi.stubGlobal("history", { state: { key: "first", above: false } });
  vi.stubGlobal("document", { documentElement: {} });
  entries = await import("../src/lib/entry");
  ({ setLocale } = await import("../src/lib/i18n.svelte"));
});

const entry = (type: "file" | "folder", path: string, name: string, customTitle: string | null = null) =>
  ({ type, path, name, customTitle }) as unknown as Entries.Entry;

test("the folders of a new site have names in the language of the reader, and no others have", async () => {
  const shown = () => ["/home", "/public", "/uploads", "/", "/home/public", "/vault"].map(entries.shownName);
  await setLocale("en-US");
  expect(shown()).toEqual(["Home folders", "Public", "Uploads", "", "public", "vault"]);
  await setLocale("zh-CN");
  expect(shown()).toEqual(["用户主目录", "公开文件", "上传文件", "", "public", "vault"]);
});

test("a title comes before such a name, and a file keeps its own", async () => {
  await setLocale("en-US");
  expect(entries.labelOf(entry("folder", "/", "public"))).toBe("Public");
  expect(entries.labelOf(entry("folder", "/", "public", "For all"))).toBe("For all");
  expect(entries.labelOf(entry("file", "/", "public"))).toBe("public");
  expect(entries.labelOf(entry("folder", "/home", "public"))).toBe("public");
});
