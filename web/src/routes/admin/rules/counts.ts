/** The accounts that a rule concerns, counted. */
import { client, take } from "../../../lib/api";
import { t } from "../../../lib/i18n.svelte";

export interface Subject {
  role?: string | null;
  /** The name of the one account. */
  username?: string;
  key?: boolean;
}

/** All accounts, and all visitors if the content is public, in words. Throws Failure. */
export async function everybody(isPublic: boolean): Promise<string> {
  const n = await active();
  return isPublic ? t.admin.rules.affected.guests(n) : t.admin.rules.affected.accounts(n);
}

/** The number of active accounts, with a role or in all. */
async function active(role?: "admin" | "user" | "guest"): Promise<number> {
  const query = { status: "active" as const, limit: 1, ...(role && { role }) };
  return (await take(client.GET("/api/admin/users", { params: { query } }))).pagination.total;
}

/** The accounts that a rule for a subject can concern, in words. Throws Failure. */
export async function affected({ role, username, key }: Subject): Promise<string> {
  const say = t.admin.rules.affected;
  if (key) return say.key;
  if (!role) return say.account(username ?? t.admin.rules.deletedAccount);
  if (role === "admin" || role === "user") return say.accounts(await active(role));
  return say.guests(await asVisitors());
}

/**
 * The number of active accounts that rules for visitors concern: these rules apply to all accounts
 * for which nothing else decides, not to administrators. Throws Failure.
 */
export async function asVisitors(): Promise<number> {
  const [all, admins] = await Promise.all([active(), active("admin")]);
  return all - admins;
}
