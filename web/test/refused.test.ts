/** Messages about a missing permission. */
import { expect, test, vi } from "vitest";

vi.hoisted(() => {
  vi.stubGlobal("location", { origin: "http://larder.test", pathname: "/app/files", search: "" });
  vi.stubGlobal("history", { state: null });
  vi.stubGlobal("window", new EventTarget());
  vi.stubGlobal("matchMedia", () => new EventTarget());
  vi.stubGlobal("document", { documentElement: { dataset: {} } });
});

import { setLocale } from "../src/lib/i18n.svelte";
import { toastRefusal } from "../src/lib/refused";
import { session } from "../src/lib/session.svelte";
import { toasts } from "../src/lib/toasts.svelte";

test("a message gets its link to the explanation when the code of the link has loaded", async () => {
  await setLocale("en-US");
  session.me = { profile: { id: "u", role: "admin" } } as typeof session.me;
  toastRefusal("delete", "/home/ann/a.txt");
  const [shown] = toasts.all;
  expect(shown?.text).toBe("You don't have permission to delete or move this.");
  expect(shown?.action).toBeUndefined();
  await vi.waitFor(() => expect(shown?.action).toBeDefined());

  // a later message about another file leaves the link of this one
  toastRefusal("delete", "/home/ann/b.txt");
  expect(toasts.all).toHaveLength(2);
});
