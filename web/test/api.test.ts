/** The pauses and sign-ins of requests. */
import { beforeEach, expect, test, vi } from "vitest";

const origin = "http://larder.test";
const asked: string[] = [];
let answers: Response[] = [];

const refused = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ success: false, error: { code, message: "in English" } }, { status, headers });
const listing = () => Response.json({ success: true, data: { items: [] } });

vi.stubGlobal("location", { origin });
vi.stubGlobal("window", {});
vi.stubGlobal("fetch", async (url: string) => {
  asked.push(url.slice(origin.length));
  return answers.shift()!;
});

const { client, listen, take } = await import("../src/lib/api");
const signedIn: string[] = [];
const pauses: number[] = [];
let again = true;
listen({
  paused: (until) => pauses.push(until && until - Date.now()),
  reached: () => undefined,
  accountChanged: () => undefined,
  sessionLost: async (code) => {
    signedIn.push(code);
    return again;
  },
});

vi.useFakeTimers(); // once, so that no pause of a test lasts into the next one
beforeEach(() => {
  for (const list of [asked, signedIn, pauses]) list.length = 0;
  again = true;
});

const search = () => take(client.GET("/api/public/files", { params: { query: { path: "/", search: "a" } } }));

test("a listing of visitors waits as long as a 429 says, and is requested again", async () => {
  answers = [refused(429, "RATE_LIMIT_EXCEEDED", { "Retry-After": "3" }), listing()];
  const found = search();
  await vi.advanceTimersByTimeAsync(2999);
  expect(asked).toHaveLength(1);
  expect(pauses).toEqual([3000]);
  await vi.advanceTimersByTimeAsync(1);
  expect(await found).toEqual({ items: [] });
  expect(asked).toEqual(["/api/public/files?path=%2F&search=a", "/api/public/files?path=%2F&search=a"]);
  expect(pauses).toEqual([3000, 0]);
});

test("a visitor is not asked to sign in", async () => {
  answers = [refused(401, "UNAUTHORIZED")];
  await expect(search()).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  expect(signedIn).toEqual([]);
});

test("the limit of wrong passwords delays no other request", async () => {
  answers = [refused(429, "RATE_LIMIT_EXCEEDED", { "Retry-After": "3" })];
  const unlock = client.POST("/api/public/unlock", { body: { path: "/a", password: "wrong", purpose: "preview" } });
  await expect(take(unlock)).rejects.toMatchObject({ code: "RATE_LIMIT_EXCEEDED", retryAfter: 3000 });
  expect(pauses).toEqual([]);
});

test.each(["UNAUTHORIZED", "INVALID_TOKEN", "SESSION_REVOKED", "ROLE_CHANGED", "USER_DISABLED"])(
  "a request that is answered with %s asks for the sign-in, and is repeated after it",
  async (code) => {
    answers = [refused(401, code), listing()];
    expect(await take(client.GET("/api/files", { params: { query: { path: "/" } } }))).toEqual({ items: [] });
    expect(signedIn).toEqual([code]);
    again = false;
    answers = [refused(401, code)];
    await expect(take(client.GET("/api/files", { params: { query: {} } }))).rejects.toMatchObject({ code });
  },
);
