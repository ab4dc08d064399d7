/** Links and times of uploads. */
import { copyLinks as copyAll } from "../../lib/copying.svelte";
import { explain } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import { chosen } from "../../lib/links";
import { toast } from "../../lib/toasts.svelte";
import type { Entry } from "../../lib/uploads.svelte";

/** Copies the links of files, and shows a toast. */
export async function copyLinks(entries: Entry[]): Promise<void> {
  try {
    await copyAll(entries);
  } catch (cause) {
    toast("error", explain(cause));
  }
}

/**
 * Copies the link of a pasted picture, once the user has chosen who may open links. Browsers allow
 * that only shortly after a key press; afterwards a toast offers a button.
 */
export async function share(entry: Entry): Promise<void> {
  if (chosen([entry])) {
    try {
      return await copyAll([entry], { intro: t.files.pasted + t.links.joint });
    } catch {
      // the picture is there; its link can be asked for again
    }
  }
  toast("ok", t.files.pasted, { label: t.files.copyLink, run: () => void copyLinks([entry]) });
}
