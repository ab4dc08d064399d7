/** Links and times of uploads. */
import { copy } from "../../lib/clipboard";
import { explain } from "../../lib/entry";
import { locale, number, t } from "../../lib/i18n.svelte";
import { toast } from "../../lib/toasts.svelte";
import { uploads, type Entry } from "../../lib/uploads.svelte";

/** Copies the links of files, and shows a toast. */
export async function copyLinks(entries: Entry[]): Promise<void> {
  try {
    const text = await uploads.links(entries);
    if (!(await copy(text))) toast("error", t.common.copyFailed);
    else toast("ok", entries.length === 1 ? t.upload.linkCopied : t.upload.linksCopied(number(entries.length)));
  } catch (cause) {
    toast("error", explain(cause));
  }
}

/**
 * Copies the link of a pasted picture. Browsers allow that only shortly after a key press;
 * afterwards a toast offers a button.
 */
export async function share(entry: Entry): Promise<void> {
  const text = await uploads.links([entry]).catch(() => "");
  if (text && (await copy(text))) toast("ok", t.upload.pasted);
  else toast("ok", t.upload.pastedOnly, { label: t.upload.copyLink, run: () => void copyLinks([entry]) });
}

/** A time in ms as time of day. */
export function clock(ms: number): string {
  return new Intl.DateTimeFormat(locale(), { timeStyle: "short" }).format(ms);
}
