/** Moves the selected entries to the trash without asking, and offers to undo that. */
import { show } from "../../lib/activities.svelte";
import { Failure } from "../../lib/api";
import { trashAll } from "../../lib/bulk";
import { t } from "../../lib/i18n.svelte";
import { toast } from "../../lib/toasts.svelte";
import { restore } from "../../lib/trash.svelte";
import { sayRefused } from "../trash/restoring.svelte";
import type { Browser } from "./browser.svelte";

export async function toTrash(browser: Browser): Promise<void> {
  const entries = await browser.chosen();
  if (entries.length === 0) return;
  const card = show(t.trash.moving, entries.length);
  const { done, failed, trashIds } = await trashAll(entries, card.progress, t.trash.tooLarge);
  card.end();
  browser.selection.none();
  await browser.refresh();
  await browser.refocus();
  if (done.length > 0) {
    const names = new Map(entries.map(({ id, name }) => [id, name]));
    const text = entries.length === 1 ? t.trash.moved(entries[0]!.name) : t.trash.movedMany(done.length);
    toast(
      "ok",
      text,
      trashIds.length > 0
        ? { label: t.trash.undo, once: true, run: () => void undo(browser, trashIds, names) }
        : undefined,
    );
  }
  if (failed.length > 0) {
    const left = failed.map(({ entry }) => entry);
    toast("error", t.trash.notMoved(failed.length, failed[0]!.reason), {
      label: `${t.trash.purge}…`,
      once: true,
      run: () => void browser.openPanel("delete", left),
    });
  }
}

/** Restores the items with these ids; `names` are by id. */
async function undo(browser: Browser, ids: readonly string[], names: ReadonlyMap<string, string>): Promise<void> {
  let back = 0;
  for (const id of ids) {
    try {
      await restore(id);
      back++;
    } catch (cause) {
      if (!(cause instanceof Failure && cause.code === "NOT_FOUND"))
        sayRefused(toast, { id, name: names.get(id) ?? "" }, cause);
    }
  }
  await browser.refresh(ids[0]);
  if (back > 0) toast("ok", t.trash.restoredMany(back));
}
