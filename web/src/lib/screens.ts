/** Addresses of screens that depend on the account. */
import { address } from "./router.svelte";
import { session } from "./session.svelte";

/** The address of the opening folder of the account; that of the root for a visitor. */
export function ownFiles(): string {
  return address("/app/files", session.me?.profile.defaultPath ?? "");
}

/**
 * For administrators, the address of the explanation whether a visitor may do something at a path;
 * with `mine`, whether the user of the page may. "" for others.
 */
export function explainAccess(path: string, permission: string, mine = false): string {
  const me = session.me?.profile;
  if (me?.role !== "admin") return "";
  const question = `explain=1&permission=${permission}&path=${encodeURIComponent(path)}`;
  return `/app/admin/rules?${question}${mine ? `&user=${me.id}` : ""}`;
}
