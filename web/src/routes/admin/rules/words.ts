/** Rules in words: a rule as a sentence, and which paths a pattern covers. */
import type { Schemas } from "../../../lib/api";
import { locale, t } from "../../../lib/i18n.svelte";

export type Rule = Schemas["ApiAdminRuleReply"];
export type Mount = Schemas["ApiAdminMountReply"];

export const permissions = ["read", "write", "update", "delete", "share", "download"] as const;
export type Permission = (typeof permissions)[number];

/** Whether a rule is about all permissions: an empty list means that, too. */
export const isAll = (some: readonly string[]) => some.length === 0 || some.length === permissions.length;

function join(texts: readonly string[], type: "conjunction" | "disjunction"): string {
  // the actions of a Chinese sentence are a plain list
  return locale() === "zh-CN" && type === "conjunction"
    ? texts.join("、")
    : new Intl.ListFormat(locale(), { type }).format(texts);
}

/** The subject of a rule. */
export function subjectOf(rule: Rule): string {
  if (rule.role) return t.admin.rules.roles[rule.role] ?? rule.role;
  if (rule.userId) return rule.username ?? t.admin.rules.deletedAccount;
  return rule.keyName ? t.admin.rules.keyOf(rule.keyName, rule.username ?? "—") : t.admin.rules.deletedKey;
}

/** A rule as a sentence. */
export function sentenceOf(rule: Rule, mounts: readonly Mount[]): string {
  const say = t.admin.rules;
  const denies = rule.effect === "deny";
  const what = isAll(rule.permissions)
    ? say.all
    : join(
        rule.permissions.map((name) => t.panels.details.permission[name] ?? name),
        denies ? "disjunction" : "conjunction",
      );
  const where = rule.pathPattern === "/**" ? say.anywhere : rule.pathPattern;
  const from = join(rule.allowedIps, "disjunction");
  return [
    (denies ? say.denies : say.allows)(subjectOf(rule), what, where),
    rule.mountId && say.onMount(mounts.find(({ id }) => id === rule.mountId)?.name ?? "—"),
    from && (denies ? say.unlessFrom : say.onlyFrom)(from),
    rule.requirePassword && say.withPassword,
  ]
    .filter(Boolean)
    .join("");
}

/** Signs that no name may contain, and the bracket, which has no meaning in a pattern. */
const forbidden = /[[\\\p{Cc}\u2028-\u202e\u2066-\u2069]/u;

/** Whether a pattern has the form that the server accepts. */
export function isPattern(text: string): boolean {
  return (
    text.startsWith("/") &&
    !forbidden.test(text) &&
    new TextEncoder().encode(text).length <= 4096 &&
    text.split("/").every((name) => name !== "." && name !== ".." && name.trim() === name && [...name].length <= 255)
  );
}

/** A sentence about the paths that a pattern matches; "" for a pattern that the server refuses. */
export function coverageOf(text: string): string {
  const say = t.admin.rules.covers;
  if (!isPattern(text)) return "";
  const names = text.split("/").filter(Boolean);
  const last = names.at(-1);
  const folder = `/${names.slice(0, -1).join("/")}`;
  if (!last) return say.root;
  if (/[*?]/.test(folder)) return say.matching;
  if (last === "**") return names.length === 1 ? say.all : say.tree(folder);
  if (last === "*") return say.level(folder);
  return /[*?]/.test(last) ? say.matching : say.one(`/${names.join("/")}`);
}

/** The fields of a rule that decide whether a change takes permissions from its subject. */
type Reach = Pick<
  Rule,
  "effect" | "pathPattern" | "permissions" | "mountId" | "allowedIps" | "requirePassword" | "priority"
> & { subject: string };

export function reachOf(rule: Rule): Reach {
  return { ...rule, subject: rule.role ?? rule.userId ?? rule.apiKeyId ?? "" };
}

/**
 * Whether a change can take rights: from the subject of the rule as it was, or as it will be. A
 * change that widens what a rule allows, or narrows what it denies, does not. `before` is undefined
 * for a new rule, `after` for a deleted one.
 */
export function takesFrom(before: Reach | undefined, after: Reach | undefined): { old: boolean; new: boolean } {
  const sameRule = !!before && !!after && before.subject === after.subject && before.effect === after.effect;
  const covers = (wide: Reach, narrow: Reach) =>
    wide.pathPattern === narrow.pathPattern &&
    (wide.mountId === null || wide.mountId === narrow.mountId) &&
    (isAll(wide.permissions) ||
      (!isAll(narrow.permissions) && narrow.permissions.every((one) => wide.permissions.includes(one))));
  // an allow rule applies to its addresses, a deny rule to all others
  const from = (wide: Reach, narrow: Reach) =>
    wide.allowedIps.length === 0 ||
    (narrow.allowedIps.length > 0 && narrow.allowedIps.every((one) => wide.allowedIps.includes(one)));
  const outside = (wide: Reach, narrow: Reach) =>
    wide.allowedIps.length === 0 ||
    (narrow.allowedIps.length > 0 && wide.allowedIps.every((one) => narrow.allowedIps.includes(one)));
  const keepsAllow = () =>
    sameRule &&
    after.priority >= before.priority &&
    covers(after, before) &&
    from(after, before) &&
    (!after.requirePassword || before.requirePassword);
  const keepsDeny = () =>
    sameRule && after.priority <= before.priority && covers(before, after) && outside(before, after);
  return {
    old: before?.effect === "allow" && !keepsAllow(),
    new: after?.effect === "deny" && !keepsDeny(),
  };
}
