/** Moves the file of the viewer to the trash, and offers to undo that. */
import { trashAll } from "../../lib/bulk";
import type { Entry } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import type { toast } from "../../lib/toasts.svelte";
import { restore } from "../../lib/trash.svelte";
import { sayRefused } from "../trash/restoring.svelte";

interface Page {
  /** Shows the messages where the user sees them. */
  say: typeof toast;
  /** Offers to delete a file for good that the trash does not take. */
  purge: () => void;
  /** The file is back. */
  restored: (id: string) => Promise<void>;
}

/** Resolves to whether the file is in the trash. */
export async function trashOne(entry: Entry, { say, purge, restored }: Page): Promise<boolean> {
  const { failed, trashIds } = await trashAll([entry], () => undefined, t.trash.tooLarge);
  if (failed.length > 0) {
    say("error", t.trash.notMoved(1, failed[0]!.reason), { label: `${t.trash.purge}…`, once: true, run: purge });
    return false;
  }
  const [id] = trashIds;
  const undo = async () => {
    try {
      await restore(id!);
      await restored(entry.id);
      say("ok", t.trash.restoredMany(1));
    } catch (cause) {
      sayRefused(say, { id: id!, name: entry.name }, cause);
    }
  };
  const action = { label: t.trash.undo, once: true, run: () => void undo() };
  say("ok", t.trash.moved(entry.name), id === undefined ? undefined : action);
  return true;
}
