/** The accounts of the site, the effects of a change of one, and the same change of several. */
import { client, Failure, take, type Schemas } from "../../../lib/api";
import { each } from "../../../lib/bulk";
import { explain } from "../../../lib/entry";
import { number, size, t } from "../../../lib/i18n.svelte";

export type User = Schemas["ApiAdminUserReply"];
export type Impact = Schemas["ApiUserImpactReply"];
export type Change = Schemas["ApiUpdateUserInput"];
export type Role = User["role"];
export type Status = User["status"];

export const roles: readonly Role[] = ["user", "admin", "guest"];
export const statuses: readonly Status[] = ["active", "disabled", "banned"];

/**
 * The changes of accounts that have effects elsewhere. `role`, another role, ends sessions; keys
 * and shares stay, but act with the new role.
 */
export type Effect = "disable" | "enable" | "delete" | "role";

/** The reason why the server refused a change. */
export function reasonOf(cause: unknown): string {
  const wrong = t.admin.users.wrong;
  if (cause instanceof Failure && (cause.field === "role" || cause.field === "status")) return wrong.lastAdmin;
  return explain(cause, { NOT_FOUND: wrong.gone, FORBIDDEN: wrong.notAdmin, VALIDATION_ERROR: wrong.rule });
}

/** The impact of a change of some accounts, or the reason why it is not known. */
export type Known = { impact: Impact } | { problem: string };

export async function impactOf(users: readonly User[]): Promise<Known> {
  const impact: Impact = { sessions: 0, keys: 0, shares: 0, files: 0, storage: 0 };
  const names = Object.keys(impact) as (keyof Impact)[];
  try {
    await each(users, async ({ id }) => {
      const one = await take(client.GET("/api/admin/users/{id}/impact", { params: { path: { id } } }));
      for (const name of names) impact[name] += one[name];
    });
    return { impact };
  } catch (cause) {
    return { problem: reasonOf(cause) };
  }
}

/** The impact of a change, as sentences with numbers. */
export function sentences(effect: Effect, { sessions, keys, shares, files, storage }: Impact): string[] {
  const say = t.admin.users.impact;
  const some = (n: number, sentence: (n: string) => string) => (n > 0 ? [sentence(number(n))] : []);
  if (effect === "role")
    return [
      ...some(sessions, say.sessions),
      ...some(keys, say.keysRole),
      ...some(shares, say.sharesRole),
      say.rightsRole,
    ];
  if (effect === "enable") return [...some(keys, say.keysBack), ...some(shares, say.sharesBack)];
  if (effect === "disable")
    return [...some(sessions, say.signedOut), ...some(keys, say.keysStop), ...some(shares, say.sharesStop)];
  return [
    ...some(sessions, say.signedOut),
    ...some(keys, say.keysEnd),
    ...some(shares, say.sharesEnd),
    ...some(files, (n) => say.files(n, size(storage))),
  ];
}

export function change(user: User, body: Change): Promise<{ user: User }> {
  return take(client.PUT("/api/admin/users/{id}", { params: { path: { id: user.id } }, body }));
}

/** Deletes an account; one that does not exist any more counts as deleted. Throws Failure. */
export async function remove({ id }: User): Promise<void> {
  try {
    await take(client.DELETE("/api/admin/users/{id}", { params: { path: { id } } }));
  } catch (cause) {
    if (!(cause instanceof Failure) || cause.code !== "NOT_FOUND") throw cause;
  }
}

/** Deletes everything for good that an account owns in the trash. Throws Failure. */
export async function emptyTrashOf({ id }: User): Promise<void> {
  await take(client.DELETE("/api/admin/users/{id}/trash", { params: { path: { id } } }));
}

/** Gives an account a random password, which it returns, and ends its sessions. Throws Failure. */
export async function newPasswordOf({ id }: User): Promise<string> {
  return (await take(client.POST("/api/admin/users/{id}/password", { params: { path: { id } } }))).password;
}

export interface Refused {
  user: User;
  reason: string;
}

/** Applies an action to accounts, a few at a time. Returns those for which it was refused. */
export async function forEach(users: readonly User[], action: (user: User) => Promise<unknown>): Promise<Refused[]> {
  const refused: Refused[] = [];
  await each(users, async (user) => {
    try {
      await action(user);
    } catch (cause) {
      refused.push({ user, reason: reasonOf(cause) });
    }
  });
  return refused;
}

/** Reports whether an account has more than new limits allow; undefined leaves one as it is. */
export function exceeds(
  { quota }: User,
  { maxStorage, maxFiles }: { maxStorage: number | undefined; maxFiles: number | undefined },
): boolean {
  const over = (used: number, most: number | undefined) => most !== undefined && most >= 0 && used > most;
  return over(quota.usedStorage, maxStorage) || over(quota.usedFiles, maxFiles);
}
