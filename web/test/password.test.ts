/** Passwords that are made for somebody. */
import { expect, test } from "vitest";
import { generatePassword } from "../src/lib/password";

test("generated passwords differ, and have 12 characters without similar ones", () => {
  const made = Array.from({ length: 200 }, () => generatePassword());
  for (const password of made) expect(password).toMatch(/^[a-hjkmnp-z2-9]{4}(-[a-hjkmnp-z2-9]{4}){2}$/);
  expect(new Set(made).size).toBe(200);
});
