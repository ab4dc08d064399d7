/** From how many accounts a change of mounts may take access. */
import { t } from "../../../lib/i18n.svelte";
import { everybody } from "../rules/counts";
import type { Mount } from "./overlaps";

/** The loss of access to these mounts as a sentence with numbers. Throws Failure. */
export async function lossOf(mounts: readonly Mount[]): Promise<string> {
  return t.admin.rules.takes(await everybody(mounts.some((mount) => mount.public)));
}
