import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import type * as Links from "../src/lib/links";
import type { Entry } from "../src/lib/entry";

let links: typeof Links;
let stored: string | null = null;

beforeAll(async () => {
  vi.stubGlobal("location", new URL("http://larder.test/app/files"));
  vi.stubGlobal("document", { documentElement: {} });
  vi.stubGlobal("window", {});
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

test("the server is asked about a picture of which only the upload is known", async () => {
  const asked: string[] = [];
  const statuses: Record<string, number> = { fresh: 200, broken: 404, busy: 503 };
  vi.stubGlobal("fetch", async (address: string, { method, body }: { method: string; body?: string }) => {
    const [, id] = /^\/api\/i\/(.+)\.jpg\/thumbnail\?size=640$/.exec(address) ?? [];
    if (id) {
      asked.push(`${method} ${id}`);
      return new Response(null, { status: statuses[id]! });
    }
    if (address.endsWith("/api/auth/csrf-token")) return Response.json({ data: { token: "token" } });
    const { ids } = JSON.parse(body!) as { ids: string[] };
    const link = (id: string) => ({ works: true, url: `http://h/api/i/${id}.jpg` });
    return Response.json({ data: { items: ids.map((id) => ({ id, link: link(id) })) } });
  });
  const photo = (id: string) => entry({ id, name: `${id}.jpg`, mimeType: "image/jpeg" });
  const entries = [...Object.keys(statuses).map(photo), { ...photo("known"), width: 900 }];
  const choice = { kind: "permanent", lifetime: 0, format: "direct", width: 640, linked: true } as const;
  const { makeLinks } = await import("../src/lib/linkTexts");
  expect((await makeLinks(entries, choice)).lines).toEqual([
    "http://h/api/i/fresh.jpg/thumbnail?size=640",
    "http://h/api/i/broken.jpg",
    "http://h/api/i/busy.jpg/thumbnail?size=640",
    "http://h/api/i/known.jpg/thumbnail?size=640",
  ]);
  expect(asked).toEqual(["HEAD fresh", "HEAD broken", "HEAD busy"]);
  await makeLinks(entries, { ...choice, width: 0 });
  expect(asked.length).toBe(3);
});
