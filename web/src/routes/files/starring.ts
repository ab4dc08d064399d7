/** Stars the selected entries, or removes their stars when all of them have one. */
import { explain } from "../../lib/entry";
import { star } from "../../lib/favourites";
import { t } from "../../lib/i18n.svelte";
import { toast } from "../../lib/toasts.svelte";
import { toastUnstarred } from "../../lib/undo";
import type { Browser } from "./browser.svelte";

export async function starChosen(browser: Browser): Promise<void> {
  const entries = await browser.chosen();
  const favourite = !entries.every((entry) => entry.favourite);
  const changed = entries.filter((entry) => !!entry.favourite !== favourite);
  try {
    for (const entry of changed) await star(entry, favourite);
  } catch (cause) {
    toast("error", explain(cause, { OPERATION_FAILED: t.places.tooMany }));
    return;
  }
  if (changed.length === 0) return;
  if (favourite) toast("ok", t.places.added(changed.length));
  else toastUnstarred(changed);
}
