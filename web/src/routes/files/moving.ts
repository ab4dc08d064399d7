/** Moves entries to a folder, shows the progress, and tells what could not be moved. */
import { show } from "../../lib/activities.svelte";
import { moveAll } from "../../lib/bulk";
import { shownName, type Entry } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import { toast } from "../../lib/toasts.svelte";
import { toastMoved } from "../../lib/undo";
import type { Browser } from "./browser.svelte";

export async function moveTo(browser: Browser, folder: string, entries: readonly Entry[]): Promise<void> {
  const to = shownName(folder) || t.files.home;
  const card = show(t.changes.moving(to), entries.length);
  const { done, failed } = await moveAll(entries, folder, card.progress);
  card.end();
  await browser.refresh();
  await browser.refocus();
  toastMoved(done, folder);
  if (failed.length > 0) {
    const left = failed.map(({ entry }) => entry);
    toast("error", t.changes.notMoved(failed.length, failed[0]!.reason), {
      label: t.common.retry,
      run: () => void browser.moveInto(folder, left),
    });
  }
}
