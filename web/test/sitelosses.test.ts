/** Who loses access by a change of the site settings. */
import { expect, test, vi } from "vitest";
import { lossesOf, type Form, type Loss } from "../src/routes/admin/site/settings";

vi.hoisted(() => {
  vi.stubGlobal("location", { pathname: "/", search: "" });
  vi.stubGlobal("history", { state: null });
  vi.stubGlobal("document", { documentElement: {} });
});

vi.mock("../src/lib/session.svelte", () => ({ session: {} }));

const open = {
  requireEmailVerification: false,
  enableFreeMode: true,
  allowGuestAccess: true,
  trashDays: "30",
} as Form;

test.each<[string, Partial<Form>, Partial<Form>, Loss[]]>([
  ["verified addresses are required", {}, { requireEmailVerification: true }, ["unverified"]],
  ["they are required already", { requireEmailVerification: true }, {}, []],
  ["free mode is switched off", {}, { enableFreeMode: false }, ["free"]],
  ["visitors are shut out, and so is free mode", {}, { allowGuestAccess: false }, ["guests", "free"]],
  ["visitors are shut out without free mode", { enableFreeMode: false }, { allowGuestAccess: false }, ["guests"]],
  ["the trash is switched off", {}, { trashDays: "0" }, ["trash"]],
  ["the trash keeps less", {}, { trashDays: "29" }, ["older"]],
  ["the trash keeps more", {}, { trashDays: "31" }, []],
  ["the days are no number", {}, { trashDays: "-1" }, []],
  ["there was no trash", { trashDays: "0" }, { trashDays: "0" }, []],
  ["more is allowed", { allowGuestAccess: false }, { allowGuestAccess: true }, []],
])("%s", (_, stored, changed, losses) => {
  const before = { ...open, ...stored };
  expect(lossesOf({ ...before, ...changed }, before)).toEqual(losses);
});
