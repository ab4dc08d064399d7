/** Parts of the administration outside of its pages: see lib/explained. */
import { t } from "../../lib/i18n.svelte";
import { explainAddress } from "./explainAddress";

export function explanation(path: string, permission: string, account: string) {
  return { address: explainAddress(path, permission, account), label: t.explained.access, why: t.explained.why };
}

export const setUp = () => t.explained.setUp;
