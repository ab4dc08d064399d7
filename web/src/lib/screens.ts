/** Addresses of screens that depend on the account. */
import { address } from "./router.svelte";
import { session } from "./session.svelte";

/** The address of the opening folder of the account; that of the root for a visitor. */
export function ownFiles(): string {
  return address("/app/files", session.me?.profile.defaultPath ?? "");
}
