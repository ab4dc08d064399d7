/** Moves entries to a folder, shows the progress, and tells what could not be moved. */
import { show } from "../../lib/activities.svelte";
import { moveAll } from "../../lib/bulk";
import { nameOf, type Entry } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import { toast } from "../../lib/toasts.svelte";
import type { Browser } from "./browser.svelte";

export async function moveTo(browser: Browser, folder: string, entries: readonly Entry[]): Promise<void> {
  const to = nameOf(folder) || t.files.home;
  const card = show(t.files.moving(to), entries.length);
  const { done, failed } = await moveAll(entries, folder, card.progress);
  card.end();
  await browser.refresh();
  await browser.refocus();
  if (done.length > 0) toast("ok", t.files.moved(done.length, to));
  if (failed.length > 0) {
    const left = failed.map(({ entry }) => entry);
    toast("error", t.files.notMoved(failed.length, failed[0]!.reason), {
      label: t.common.retry,
      run: () => void browser.moveInto(folder, left),
    });
  }
}
