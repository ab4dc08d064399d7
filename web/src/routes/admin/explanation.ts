/** The links to the explanation of access outside of the administration. */
import { t } from "../../lib/i18n.svelte";
import { explainAddress } from "./explainAddress";

export function explanation(path: string, permission: string, account: string) {
  return { address: explainAddress(path, permission, account), label: t.explained.access, why: t.explained.why };
}
