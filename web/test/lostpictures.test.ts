/** Which pictures that could not be loaded are loaded again, and when. */
import { afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type * as Api from "../src/lib/api";
import type * as Lost from "../src/lib/lostPictures.svelte";

let { actFor } = {} as typeof Api;
let { found, isLost, lose, retryPictures } = {} as typeof Lost;
let asked: string[] = [];
/** The account that each request names, "" for none. */
let named: string[] = [];
/** Status and Retry-After header of answers, by address; without one, the server is away. */
let answers: Record<string, [status: number, wait?: string]> = {};

beforeAll(async () => {
  vi.stubGlobal("location", new URL("http://larder.test/app/files"));
  ({ actFor } = await import("../src/lib/api"));
  ({ found, isLost, lose, retryPictures } = await import("../src/lib/lostPictures.svelte"));
});

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0);
  asked = [];
  named = [];
  answers = {};
  vi.stubGlobal("fetch", async (address: string, { method, headers }: { method: string; headers: HeadersInit }) => {
    asked.push(`${method} ${address}`);
    named.push(new Headers(headers).get("X-Larder-Account") ?? "");
    const [status, wait] = answers[address] ?? [];
    if (!status) throw new TypeError("no connection");
    return { status, headers: new Headers(wait ? { "Retry-After": wait } : {}) };
  });
});

afterEach(() => {
  retryPictures();
  found("");
  vi.useRealTimers();
});

const after = (ms: number, ...addresses: string[]) => {
  vi.advanceTimersByTime(ms);
  return addresses.map(isLost);
};

test("a picture that does not exist or is forbidden is asked for once", async () => {
  answers = { a: [404], b: [403], c: [410] };
  for (const address of ["a", "b", "c"]) await lose(address);
  expect(asked).toEqual(["HEAD a", "HEAD b", "HEAD c"]);
  retryPictures();
  expect(after(3_600_000, "a", "b", "c")).toEqual([true, true, true]);
});

test("the request names the account of the page, to this service alone", async () => {
  const [own, elsewhere, gateway] = ["/api/files/1/thumbnail", "https://elsewhere.test/cover.png", "/api/gateway/t"];
  answers = { [own]: [404], [elsewhere]: [404], [gateway]: [404] };
  actFor("ann");
  for (const address of [own, elsewhere, gateway]) await lose(address);
  actFor("");
  await lose(own);
  expect(named).toEqual(["ann", "", "", ""]);
});

test.each([401, 429, 500, 502, 503, 0])("after the status %i it is loaded again", async (status) => {
  if (status) answers = { d: [status] };
  await lose("d");
  expect(after(1999, "d")).toEqual([true]);
  expect(after(1, "d")).toEqual([false]);
  await lose("d");
  expect(after(3999, "d")).toEqual([true]);
  expect(after(1, "d")).toEqual([false]);
  for (let n = 0; n < 10; n++) {
    await lose("d");
    expect(after(32_000, "d")).toEqual([false]);
  }
  found("d");
  await lose("d");
  expect(after(2000, "d")).toEqual([false]);
});

test("the server says how long to wait, within five minutes", async () => {
  answers = { e: [429, "7"], f: [503, "9999"] };
  await lose("e");
  expect(after(6999, "e")).toEqual([true]);
  expect(after(1, "e")).toEqual([false]);
  await lose("f");
  expect(after(299_999, "f")).toEqual([true]);
  expect(after(1, "f")).toEqual([false]);
});

test("a folder that is opened, and a connection that returns, load pictures at once", async () => {
  await lose("g");
  expect(isLost("g")).toBe(true);
  retryPictures();
  expect(isLost("g")).toBe(false);
});

test("an answer that is no picture is loaded twice", async () => {
  answers = { h: [200] };
  await lose("h");
  expect(after(2000, "h")).toEqual([false]);
  await lose("h");
  expect(after(3_600_000, "h")).toEqual([true]);
});
