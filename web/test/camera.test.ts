import { expect, test, vi } from "vitest";

vi.stubGlobal("navigator", { languages: ["en-US"] });
const { coordinates, exposureText, megapixels } = await import("../src/lib/camera");
const { setLocale } = await import("../src/lib/i18n.svelte");

test("an exposure is written as photographers write it", async () => {
  vi.stubGlobal("document", { documentElement: {} });
  await setLocale("en-US");
  expect(exposureText({ exposureTime: 0.004, aperture: 2.8, iso: 400, focalLength: 35 })).toBe(
    "1/250 s · f/2.8 · ISO 400 · 35 mm",
  );
  expect(exposureText({ exposureTime: 1 / 3, aperture: 11 })).toBe("0.3 s · f/11");
  expect(exposureText({ exposureTime: 30, focalLength: 4.25 })).toBe("30 s · 4.3 mm");
  expect(exposureText({})).toBe("");
});

test("coordinates have five digits, and the sign of their side", () => {
  expect(coordinates(-33.858667, 151.215)).toBe("-33.85867, 151.21500");
});

test("megapixels have one digit", () => {
  expect(megapixels(4032, 3024)).toBe(12.2);
  expect(megapixels(800, 600)).toBe(0.5);
});
