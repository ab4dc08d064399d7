/** Downloads entries as zip archives. */
import type { Entry } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import { mostArchived } from "../../lib/source/source";
import { toast } from "../../lib/toasts.svelte";
import { save } from "./browser.svelte";

/** Downloads entries, in several archives if they are many. */
export function zip(entries: readonly Entry[]): void {
  const locked = entries.filter(({ hasPassword }) => hasPassword).length;
  if (locked > 0) toast("ok", t.files.lockedInZip(locked));
  for (let from = 0; from < entries.length; from += mostArchived) {
    const ids = entries.slice(from, from + mostArchived).map(({ id }) => id);
    save(`/api/files/zip?ids=${ids.join(",")}`);
  }
}
