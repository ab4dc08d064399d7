/**
 * Toasts of changes that the user can undo. Undo keeps later changes of other clients. To undo a
 * move, the server moves back the entries that are still in the destination folder. To undo another
 * change, the page first reads the changed properties from the server. If one of them has another
 * value than the change gave it, the page restores none of them.
 */
import { show } from "./activities.svelte";
import { client, take, type Schemas } from "./api";
import { each, moveAllFrom } from "./bulk";
import { explain, explainName, shownName, type Entry } from "./entry";
import { star } from "./favourites";
import { t } from "./i18n.svelte";
import { toast } from "./toasts.svelte";
import { folderChanged } from "./upload/changes";

type Change = Schemas["ApiUpdateFileInput"];

/** A change of an entry that can be undone. */
interface Step {
  id: string;
  /** The properties before the change. */
  before: Change;
  /** The same properties after the change. */
  after: Change;
}

/** Shows that entries were moved. They are given as they were before. */
export function toastMoved(entries: readonly Entry[], to: string): void {
  if (entries.length === 0) return;
  const run = () => void moveBack(entries, to);
  toast("ok", t.changes.moved(entries.length, shownName(to) || t.files.home), {
    label: t.changes.undo,
    once: true,
    run,
  });
}

/** Moves those of the entries that are still in a folder back to their former folders. */
async function moveBack(entries: readonly Entry[], from: string): Promise<void> {
  const card = show(t.changes.movingBack, entries.length);
  let back = 0;
  let reason = "";
  let tried = 0;
  const former = new Map<string, Entry[]>();
  for (const entry of entries) former.set(entry.path, [...(former.get(entry.path) ?? []), entry]);
  // a folder comes back before the entries that were in it
  const byLength = [...former].sort(([a], [b]) => a.length - b.length);
  for (const [folder, some] of byLength) {
    const progress = (count: number) => card.progress(tried + count);
    const { done, failed } = await moveAllFrom(from, some, folder, progress, t.changes.elsewhere);
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
  const steps = [{ id: before.id, before: { name: before.name }, after: { name } }];
  const undo = () => change({ ...before, name }, steps, words, say);
  say("ok", t.changes.renamed(name), { label: t.changes.undo, once: true, run: () => void undo() });
}

/** Shows that entries are not favourites any more. `say` shows the messages. */
export function toastUnstarred(entries: readonly Pick<Entry, "id">[], say = toast): void {
  const run = () => void starAgain(entries, say);
  say("ok", t.changes.unstarred(entries.length), { label: t.changes.undo, once: true, run });
}

/** Stars entries again. Favourites lists the newest star first, so the last entry begins. */
async function starAgain(entries: readonly Pick<Entry, "id">[], say: typeof toast): Promise<void> {
  try {
    for (const entry of [...entries].reverse()) await star(entry, true);
    say("ok", t.changes.undone);
  } catch (cause) {
    say("error", explain(cause));
  }
}

/** Shows that the appearance of an entry was changed. It is given as it was before and after. */
export function toastAppearance(before: Entry, after: Entry): void {
  const steps = [{ id: before.id, before: appearanceOf(before), after: appearanceOf(after) }];
  const undo = () => change(before, steps);
  toast("ok", t.changes.appearanceChanged(before.name), { label: t.changes.undo, once: true, run: () => void undo() });
}

function appearanceOf({ customColor = null, iconEmoji = null, customTitle = null, coverUrl = null }: Entry): Change {
  return { customColor, iconEmoji, customTitle, coverUrl };
}

/**
 * Shows that an entry has another place in the manual order. `moved` are the positions that have
 * changed, before and after.
 */
export function toastOrder(
  entry: Entry,
  moved: readonly (readonly [id: string, before: number | null, after: number])[],
): void {
  const steps = moved.map(([id, before, after]) => ({
    id,
    before: { manualPosition: before },
    after: { manualPosition: after },
  }));
  const run = () => void change(entry, steps);
  toast("ok", t.changes.reordered(entry.name), { label: t.changes.undo, once: true, run });
}

/**
 * Undoes all steps, or none if a property was changed since, and shows the outcome. `entry` is the
 * entry that the message names; all steps are in its folder.
 */
async function change(
  entry: Entry,
  steps: readonly Step[],
  words: (cause: unknown) => string = explain,
  say = toast,
): Promise<void> {
  try {
    if (await unchanged(steps)) {
      for (const { id, before } of steps)
        await take(client.PUT("/api/files/{id}", { params: { path: { id } }, body: before }));
      say("ok", t.changes.undone);
    } else say("error", t.changes.changedSince(entry.name));
  } catch (cause) {
    say("error", words(cause));
  }
  folderChanged(entry.path);
}

/** Reports whether all entries still have the properties that they had after the change. */
async function unchanged(steps: readonly Step[]): Promise<boolean> {
  let same = true;
  await each(steps, async ({ id, after }) => {
    const now: Change = await read(id);
    const keys = Object.keys(after) as (keyof Change)[];
    if (keys.some((key) => (now[key] ?? null) !== after[key])) same = false;
  });
  return same;
}

/** Reads an entry. Throws Failure. */
async function read(id: string): Promise<Entry> {
  return (await take(client.GET("/api/files/{id}", { params: { path: { id } } }))).file;
}
