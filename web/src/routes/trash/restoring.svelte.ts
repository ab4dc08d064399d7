/** Messages after a restore, and the restore to another folder that they offer. */
import { explain, pathOf, shownName, type Entry } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import { address, go, route } from "../../lib/router.svelte";
import type { toast } from "../../lib/toasts.svelte";
import { anotherFolderHelps } from "../../lib/trash.svelte";

/** An item of the trash. */
export interface Item {
  id: string;
  name: string;
}

class Elsewhere {
  /** The items that the user restores to another folder. RestoreElsewhere asks for the folder. */
  items = $state.raw<readonly Item[]>();
}
export const elsewhere = new Elsewhere();

/** The pages that contain RestoreElsewhere. */
const pages = ["/app/trash", "/app/past"];

/** Asks for another folder to restore items to. On other pages, it opens the trash for that. */
export function restoreElsewhere(items: readonly Item[]): void {
  elsewhere.items = items;
  if (!pages.includes(route.path)) void go("/app/trash");
}

/** Says that an entry is back, and leads to it. */
export function sayRestored(say: typeof toast, entry: Entry): void {
  say("ok", t.trash.restored(entry.name, shownName(entry.path) || t.files.home), {
    label: t.trash.show,
    run: () => void go(address("/app/files", entry.type === "folder" ? pathOf(entry) : entry.path)),
  });
}

/** Says why an item was not restored, and offers another folder where that may help. */
export function sayRefused(say: typeof toast, item: Item, cause: unknown): void {
  const reason = explain(cause, { FORBIDDEN: t.common.lacks.write, OPERATION_FAILED: t.trash.noPlace });
  const action = { label: t.trash.restoreTo, once: true, run: () => restoreElsewhere([item]) };
  say("error", t.trash.notRestored(item.name, reason), anotherFolderHelps(cause) ? action : undefined);
}
