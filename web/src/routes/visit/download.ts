/** Downloads from a share or a public folder. */
import { explain, type Entry } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import { save } from "../../lib/preview";
import type { Source } from "../../lib/source/source";
import { toast } from "../../lib/toasts.svelte";
import { Unanswered } from "../../lib/unanswered";

/**
 * Makes the browser save an entry, or several as an archive, where the source has archives. If that
 * fails, it tells the visitor why, and resolves to false; it says nothing to a visitor who has
 * closed the question for the password.
 */
export async function download(source: Source, entry: Entry, ...more: Entry[]): Promise<boolean> {
  try {
    if (more.length > 0) await save(source, entry, await source.archive!([entry, ...more]));
    else await save(source, entry);
    return true;
  } catch (cause) {
    if (cause instanceof Unanswered) return false;
    const words = { ...t.share.ended, SHARE_LIMIT_REACHED: t.share.noneLeft, NOT_FOUND: t.share.notThere };
    toast("error", explain(cause, words));
    return false;
  }
}
