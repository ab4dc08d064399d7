/** Toasts of changes that the user can undo. */
import { show } from "./activities.svelte";
import { client, take, type Schemas } from "./api";
import { moveAll } from "./bulk";
import { explain, explainName, nameOf, type Entry } from "./entry";
import { t } from "./i18n.svelte";
import { toast } from "./toasts.svelte";
import { folderChanged } from "./upload/changes";

type Change = Schemas["ApiUpdateFileInput"];

/** Shows that entries were moved. They are given as they were before. */
export function toastMoved(entries: readonly Entry[], to: string): void {
  if (entries.length === 0) return;
  const run = () => void moveBack(entries, to);
  toast("ok", t.changes.moved(entries.length, nameOf(to) || t.files.home), { label: t.changes.undo, once: true, run });
}

/** Moves entries from a folder back to the folders in which they were. */
async function moveBack(entries: readonly Entry[], from: string): Promise<void> {
  const former = new Map<string, Entry[]>();
  for (const entry of entries) former.set(entry.path, [...(former.get(entry.path) ?? []), entry]);
  const card = show(t.changes.movingBack, entries.length);
  let back = 0;
  let tried = 0;
  let reason = "";
  // a folder comes back before the entries that were in it
  const byLength = [...former].sort(([a], [b]) => a.length - b.length);
  for (const [folder, some] of byLength) {
    const { done, failed } = await moveAll(some, folder, (count) => card.progress(tried + count));
    tried += some.length;
    back += done.length;
    reason ||= failed[0]?.reason ?? "";
    folderChanged(folder);
  }
  card.end();
  folderChanged(from);
  if (back > 0) toast("ok", t.changes.movedBack(back));
  if (back < entries.length) toast("error", t.changes.notMoved(entries.length - back, reason));
}

/** Shows that an entry was renamed. It is given as it was before. `say` shows the messages. */
export function toastRenamed(before: Entry, name: string, say = toast): void {
  const words = (cause: unknown) => explainName(cause, "update");
  const undo = () => change(before.path, [[before.id, { name: before.name }]], words, say);
  say("ok", t.changes.renamed(name), { label: t.changes.undo, once: true, run: () => void undo() });
}

/** Shows that the appearance of an entry was changed. It is given as it was before. */
export function toastAppearance(before: Entry): void {
  const { customColor = null, iconEmoji = null, customTitle = null, coverUrl = null } = before;
  const undo = () => change(before.path, [[before.id, { customColor, iconEmoji, customTitle, coverUrl }]]);
  toast("ok", t.changes.appearanceChanged(before.name), { label: t.changes.undo, once: true, run: () => void undo() });
}

/**
 * Shows that an entry has another place in the manual order. `former` are the positions that have
 * changed, as they were.
 */
export function toastOrder(entry: Entry, former: readonly (readonly [id: string, position: number | null])[]): void {
  const changes = former.map(([id, manualPosition]): [string, Change] => [id, { manualPosition }]);
  const run = () => void change(entry.path, changes);
  toast("ok", t.changes.reordered(entry.name), { label: t.changes.undo, once: true, run });
}

/** Changes entries of a folder, and shows that a change was undone, or why not. */
async function change(
  folder: string,
  changes: readonly (readonly [id: string, body: Change])[],
  words: (cause: unknown) => string = explain,
  say = toast,
): Promise<void> {
  try {
    for (const [id, body] of changes) await take(client.PUT("/api/files/{id}", { params: { path: { id } }, body }));
    say("ok", t.changes.undone);
  } catch (cause) {
    say("error", words(cause));
  }
  folderChanged(folder);
}
