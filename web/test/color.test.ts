import { expect, test } from "vitest";
import { accent, chosen, contrast, parse, surfaces, type Scheme } from "../src/lib/color";

// Every accent is readable in both themes: words 4.5:1 and more, what is not words 3:1 (WCAG 2.2,
// 1.4.3 and 1.4.11).
test.each(["light", "dark"] as Scheme[])("accents in the %s theme", (scheme) => {
  const behind = surfaces[scheme].map(parse);
  const second = parse({ light: "#565d6b", dark: "#a9b0bd" }[scheme]); // --text-2 of app.css
  const worst = { text: 99, chosen: 99, fill: 99, on: 99 };
  for (let r = 0; r < 16; r++) {
    for (let g = 0; g < 16; g++) {
      for (let b = 0; b < 16; b++) {
        const hex = `#${[r, g, b].map((value) => (value * 17).toString(16).padStart(2, "0")).join("")}`;
        const colors = accent(hex, scheme);
        for (const surface of behind) {
          worst.text = Math.min(worst.text, contrast(parse(colors["--accent-text"]), surface));
          worst.fill = Math.min(worst.fill, contrast(parse(colors["--accent"]), surface));
        }
        const ground = chosen(parse(colors["--accent"]), scheme);
        for (const words of [parse(colors["--accent-text"]), second])
          worst.chosen = Math.min(worst.chosen, contrast(words, ground));
        worst.on = Math.min(worst.on, contrast(parse(colors["--on-accent"]), parse(colors["--accent"])));
      }
    }
  }
  expect(worst.text).toBeGreaterThanOrEqual(4.5);
  expect(worst.chosen).toBeGreaterThanOrEqual(4.5);
  expect(worst.fill).toBeGreaterThanOrEqual(3);
  expect(worst.on).toBeGreaterThanOrEqual(4.5);
});

test("an accent that is readable stays as it is", () => {
  expect(accent("#ffd43b", "dark")).toEqual({
    "--accent": "#ffd43b",
    "--accent-text": "#ffd43b",
    "--on-accent": "#111318",
  });
});

test("contrast of known pairs", () => {
  expect(contrast(parse("#000000"), parse("#ffffff"))).toBeCloseTo(21, 5);
  expect(contrast(parse("#777777"), parse("#ffffff"))).toBeCloseTo(4.48, 2);
});
