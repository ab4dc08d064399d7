import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import type * as Links from "../src/lib/links";
import type { Entry } from "../src/lib/entry";

let links: typeof Links;
let stored: string | null = null;

beforeAll(async () => {
  vi.stubGlobal("location", new URL("http://larder.test/app/files"));
  vi.stubGlobal("document", { documentElement: {} });
  vi.stubGlobal("matchMedia", () => new EventTarget());
  vi.stubGlobal("history", { state: { key: "first", above: false } });
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => (key === "larder.links" ? stored : null),
    setItem: (key: string, value: string) => key === "larder.links" && (stored = value),
  });
  links = await import("../src/lib/links");
  await (await import("../src/lib/i18n.svelte")).setLocale("en-US");
});

beforeEach(() => (stored = null));

const entry = (of: Partial<Entry>) => ({ type: "file", permissions: ["read", "download", "share"], ...of }) as Entry;
const picture = entry({ mimeType: "image/png" });
const other = entry({ mimeType: "application/pdf" });
const folder = entry({ type: "folder" });
const locked = entry({ mimeType: "image/png", hasPassword: true });
const unshared = entry({ mimeType: "image/png", permissions: ["read", "download"] });

const day = 86400;
const answer = (entries: Entry[], kind: Links.Kind, wanted = kind) =>
  links.rememberKind(entries, { kind, lifetime: day }, wanted);
const settings = () => [links.remembered().pictures, links.remembered().files];

test("the permanent link is proposed for pictures, whatever cannot have one is beside them", () => {
  expect(links.proposed([picture])).toBe("permanent");
  expect(links.proposed([picture, folder, locked])).toBe("permanent");
  expect([[other], [folder], [picture, other], [unshared]].map(links.proposed)).toEqual(Array(4).fill("path"));
});

test("pictures and other files have settings of their own", () => {
  answer([other], "path");
  expect([links.chosen([other]), links.chosen([picture])]).toEqual(["path", undefined]);
  answer([picture, folder], "permanent");
  expect(settings()).toEqual(["permanent", "path"]);
});

test("an answer that was forced is not remembered", () => {
  for (const entries of [[folder], [locked], [folder, locked]]) answer(entries, "path");
  expect(settings()).toEqual([undefined, undefined]);
  answer([picture], "permanent");
  answer([folder], "path", "permanent"); // as the panel of a folder copies
  answer([unshared], "path", "permanent"); // a signed link was possible, the chosen kind was not
  expect(settings()).toEqual(["permanent", undefined]);
  answer([unshared], "signed", "permanent");
  expect(settings()).toEqual(["signed", undefined]);
});

test("pictures among other files get the link of the fewest people", () => {
  answer([picture], "permanent");
  expect(links.chosen([picture, other])).toBeUndefined();
  answer([picture, other], "path");
  expect(settings()).toEqual(["permanent", "path"]);
  expect(links.chosen([picture, other])).toBe("path");
  answer([other], "permanent");
  answer([picture], "signed");
  expect(links.chosen([picture, other])).toBe("signed");
});

test("the kind that an earlier version stored counts for all files", () => {
  stored = JSON.stringify({ kind: "signed", lifetime: 3600, format: "html", width: 640, linked: true });
  const before = { lifetime: 3600, format: "html", width: 640, linked: true };
  expect(links.remembered()).toEqual({ ...before, pictures: "signed", files: "signed" });
  links.remember({ pictures: undefined });
  expect(links.remembered()).toEqual({ ...before, pictures: undefined, files: "signed" });
  stored = JSON.stringify({ kind: "toString", pictures: 7 });
  expect(settings()).toEqual([undefined, undefined]);
});
