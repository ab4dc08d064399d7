/** The words for a search among the last searches. */
import { beforeAll, expect, test, vi } from "vitest";
import type * as Describe from "../src/routes/commands/describe";

vi.stubGlobal("location", new URL("https://larder.test/app/files"));
vi.stubGlobal("history", { state: null, replaceState: () => undefined });
vi.stubGlobal("window", {});
vi.stubGlobal("document", { documentElement: {} });
vi.stubGlobal("matchMedia", () => new EventTarget());

const { setLocale, withTexts } = await import("../src/lib/i18n.svelte");
let describe: typeof Describe.describe;

beforeAll(async () => {
  await setLocale("en-US");
  ({ describe } = await withTexts(import("../src/routes/commands/describe"), "searching"));
});

test("a search is its text, with its filters and its folder", () => {
  expect(describe({ path: "/photos", query: "search=lake&from=2025-06-01" })).toEqual({
    label: "lake",
    meta: "from Jun 1, 2025 · /photos",
  });
});

test("an address that a user typed may name no day, and another owner", () => {
  expect(describe({ path: "/photos", query: "from=yesterday&ownerId=somebody" })).toEqual({
    label: "from yesterday · Owner",
    meta: "/photos",
  });
});
