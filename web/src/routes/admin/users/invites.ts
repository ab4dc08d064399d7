/** Invites: their state, and the link with which people register. */
import type { Schemas } from "../../../lib/api";

export type Invite = Schemas["ApiInviteReply"];

/** `stopped`: the administrator who made the invite is none any more. */
export const states = ["usable", "usedUp", "expired", "stopped"] as const;
export type State = (typeof states)[number];

export function stateOf({ usable, usedCount, maxUses, expiresAt }: Invite, now = Date.now()): State {
  if (usable && (expiresAt === null || expiresAt > now)) return "usable";
  if (usedCount >= maxUses) return "usedUp";
  return expiresAt !== null && expiresAt <= now ? "expired" : "stopped";
}

export function linkOf({ code }: Invite): string {
  return `${location.origin}/app/register?invite=${encodeURIComponent(code)}`;
}
