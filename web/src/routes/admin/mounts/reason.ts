/** The words for the rule by which one mount wins over another. */
import { t } from "../../../lib/i18n.svelte";
import type { Why } from "./overlaps";

export function reasonOf(why: Why, winner: { priority: number }, other: { priority: number }): string {
  return t.admin.mounts.why[why](winner.priority, other.priority);
}
