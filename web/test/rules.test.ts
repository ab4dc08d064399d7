/** Rules in words: sentences, patterns, and whom a change takes rights from. */
import { beforeAll, expect, test, vi } from "vitest";
import type * as Words from "../src/routes/admin/rules/words";
import type { Rule } from "../src/routes/admin/rules/words";

let words: typeof Words;
let setLocale: (to: "en-US" | "zh-CN") => Promise<void>;

beforeAll(async () => {
  vi.stubGlobal("location", new URL("http://larder.test/app/admin/rules"));
  vi.stubGlobal("history", { state: { key: "first", above: false } });
  const i18n = await import("../src/lib/i18n.svelte");
  setLocale = i18n.setLocale;
  vi.stubGlobal("document", { documentElement: {} });
  await setLocale("en-US");
  words = await i18n.withTexts(import("../src/routes/admin/rules/words"), "admin", "panels");
});

const rule: Rule = {
  id: "1",
  pathPattern: "/team/**",
  effect: "allow",
  mountId: null,
  role: "user",
  userId: null,
  apiKeyId: null,
  permissions: ["read", "download"],
  requirePassword: false,
  passwordHash: null,
  allowedIps: [],
  priority: 0,
  createdAt: 1,
  updatedAt: 1,
  username: null,
  keyName: null,
};
const forAlice = { role: null, userId: "u", username: "alice" };

test("a rule is one sentence with all its conditions", async () => {
  const say = (changes: Partial<Rule>) =>
    words.sentenceOf({ ...rule, ...changes }, [{ id: "m", name: "Disk", mountPath: "/disk" } as Words.Mount]);
  expect(say({})).toBe("Users may view and download in /team/**");
  expect(say({ effect: "deny" })).toBe("Users may not view or download in /team/**");
  expect(say({ permissions: [], ...forAlice })).toBe("alice may do anything in /team/**");
  expect(say({ permissions: [...words.permissions], pathPattern: "/**", role: "admin" })).toBe(
    "Administrators may do anything in every folder",
  );
  expect(say({ mountId: "m", allowedIps: ["10.0.0.0/8", "192.0.2.1"], requirePassword: true })).toBe(
    "Users may view and download in /team/**, on mount “Disk” only, only from 10.0.0.0/8 or 192.0.2.1, with the password of the rule",
  );
  expect(say({ effect: "deny", permissions: ["write"], allowedIps: ["10.0.0.0/8"] })).toBe(
    "Users may not add in /team/**, unless from 10.0.0.0/8",
  );
  expect(say({ role: null, apiKeyId: "pk_1", keyName: "camera", username: "alice" })).toMatch(
    /^Key “camera” of alice may/,
  );
  expect(say({ role: null, userId: "u" })).toMatch(/^A deleted account may/);
  await setLocale("zh-CN");
  expect(say({})).toBe("普通用户可以在 /team/** 查看、下载");
  await setLocale("en-US");
});

test("a pattern has the form that the server accepts", () => {
  for (const good of ["/", "/**", "/a/*", "/a?c/**/d", "/a//b/", "/中文/**", "/]{}"])
    expect(words.isPattern(good), good).toBe(true);
  for (const bad of [
    "",
    "a",
    "a/**",
    "/a/../b",
    "/./a",
    "/[ab",
    "/a\\b",
    "/ a",
    "/a /b",
    "/a\u0000",
    `/${"a".repeat(256)}`,
  ])
    expect(words.isPattern(bad), bad).toBe(false);
});

test("a pattern says what it covers", () => {
  const covers = words.coverageOf;
  expect(covers("/**")).toMatch(/all files/);
  expect(covers("/")).toMatch(/only to the root/);
  expect(covers("/team/**")).toBe("Applies to /team and everything in it.");
  expect(covers("/team")).toBe("Applies only to /team itself, not to its contents.");
  expect(covers("/team/*")).toBe("Applies to everything directly in /team, but no deeper.");
  expect(covers("/*/pictures/**")).toMatch(/match this pattern/);
  expect(covers("/team/*.png")).toMatch(/match this pattern/);
  expect(covers("team")).toBe("");
});

test("a change says whom it may take rights from", () => {
  const takes = (before: Partial<Rule> | undefined, after: Partial<Rule> | undefined) => {
    const { old, new: now } = words.takesFrom(
      before && words.reachOf({ ...rule, ...before }),
      after && words.reachOf({ ...rule, ...after }),
    );
    return [old && "old", now && "new"].filter(Boolean).join(" ");
  };
  const deny = { effect: "deny" as const };
  // new and deleted rules
  expect(takes(undefined, {})).toBe("");
  expect(takes(undefined, deny)).toBe("new");
  expect(takes({}, undefined)).toBe("old");
  expect(takes(deny, undefined)).toBe("");
  // the same rule, wider and narrower
  expect(takes({}, {})).toBe("");
  expect(takes({}, { permissions: ["read", "download", "write"] })).toBe("");
  expect(takes({}, { permissions: [] })).toBe("");
  expect(takes({}, { permissions: ["read"] })).toBe("old");
  expect(takes({ permissions: [] }, {})).toBe("old");
  expect(takes({}, { pathPattern: "/team/a/**" })).toBe("old");
  expect(takes({}, { mountId: "m" })).toBe("old");
  expect(takes({ mountId: "m" }, {})).toBe("");
  expect(takes({}, { allowedIps: ["10.0.0.0/8"] })).toBe("old");
  expect(takes({ allowedIps: ["10.0.0.0/8"] }, {})).toBe("");
  expect(takes({}, { requirePassword: true })).toBe("old");
  expect(takes({}, { priority: -1 })).toBe("old");
  expect(takes({}, { priority: 1 })).toBe("");
  expect(takes(deny, { ...deny, permissions: ["read"] })).toBe("");
  expect(takes(deny, { ...deny, permissions: [] })).toBe("new");
  expect(takes(deny, { ...deny, allowedIps: ["10.0.0.0/8"] })).toBe("");
  expect(takes({ ...deny, allowedIps: ["10.0.0.0/8"] }, deny)).toBe("new");
  expect(takes(deny, { ...deny, priority: 1 })).toBe("new");
  // to another subject or effect
  expect(takes({}, forAlice)).toBe("old");
  expect(takes(deny, { ...deny, ...forAlice })).toBe("new");
  expect(takes({}, deny)).toBe("old new");
  expect(takes(deny, {})).toBe("");
});
