import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import type * as Api from "../src/lib/api";
import type * as Preview from "../src/lib/preview";

let api: typeof Api;
let preview: typeof Preview;
let asked: [string, string | null, RequestRedirect | undefined][] = [];
let answer: (redirect?: RequestRedirect) => Response;

beforeAll(async () => {
  vi.stubGlobal("location", new URL("http://larder.test/app/files"));
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    asked.push([url, new Headers(init.headers).get("X-Larder-Account"), init.redirect]);
    return Promise.resolve(answer(init.redirect));
  });
  api = await import("../src/lib/api");
  preview = await import("../src/lib/preview");
});

beforeEach(() => {
  asked = [];
  answer = () => new Response("bytes");
  api.actFor("ann");
});

const text = async (address: string) => (await preview.requestBytes(address, {})).text();

test("bytes are requested for the account of the page", async () => {
  expect(await text("/home/ann/a.txt")).toBe("bytes");
  expect(await preview.refusal("/home/ann/b.txt")).toBe("");
  expect(asked.map(([url, account]) => [url, account])).toEqual([
    ["/home/ann/a.txt", "ann"],
    ["/home/ann/b.txt", "ann"],
  ]);
});

test("a store to which the service redirects does not get the account", async () => {
  answer = (redirect) =>
    redirect === "manual"
      ? Object.defineProperty(new Response(), "type", { value: "opaqueredirect" })
      : new Response("s");
  expect(await text("/home/ann/a.txt")).toBe("s");
  expect(asked).toEqual([
    ["/home/ann/a.txt", "ann", "manual"],
    ["/home/ann/a.txt", null, undefined],
  ]);
});

test("addresses with a token, other sites and visitors need no account", async () => {
  await text("/api/gateway/download/token");
  await text("https://cdn.test/a.txt");
  api.actFor("");
  await text("/public/a.txt");
  expect(asked.map(([, ...rest]) => rest)).toEqual(Array(3).fill([null, undefined]));
});

/** The modules with requests of their own, which name the account or have the reason not to. */
const senders = [
  "boot.js", // before the account is known
  "lib/api.ts",
  "lib/follow.ts",
  "lib/linkTexts.ts", // a permanent link
  "lib/lostPictures.svelte.ts", // repeats the request of an image element
  "lib/preview.ts",
  "lib/session.svelte.ts", // asks which account is signed in
  "routes/Connection.svelte", // a public address
  "routes/Notifications.svelte",
  "routes/free/requests.ts", // of free mode
  "routes/keys/testPicture.ts", // by an API key
  "routes/panels/LinkPanel.svelte", // a permanent link
  "worker/worker.ts", // requests of pages
];

test("every module that sends requests itself is known", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.(ts|js|svelte)$/.test(name),
  );
  const sending = files.filter((name) => /(?<![\w.#])fetch\(/.test(readFileSync(`src/${name}`, "utf8")));
  expect(sending.sort()).toEqual(senders.toSorted());
});

// It stops all requests, so it is the last one.
test("the answer for another account stops the page", async () => {
  answer = () => new Response("{}", { status: 409, headers: { "X-Larder-Account": "bob" } });
  void preview.refusal("/home/ann/a.txt");
  await vi.waitFor(() => expect(api.isHalted()).toBe(true));
});
