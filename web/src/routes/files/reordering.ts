/** Moves an entry within the manual order of its folder. */
import { tick } from "svelte";
import { client, take } from "../../lib/api";
import { reposition } from "../../lib/order";
import { toastOrder } from "../../lib/undo";
import type { Browser } from "./browser.svelte";

/** `to` is counted without the entry. `tell` shows a toast with Undo. */
export async function moveWithin(browser: Browser, index: number, to: number, tell: boolean): Promise<void> {
  const { listing } = browser;
  const [first, end] = index < listing.folders ? [0, listing.folders] : [listing.folders, listing.total];
  const wanted = Math.min(end - 1, Math.max(first, to));
  if (wanted === index) return;
  try {
    // Positions change only up to the farther of the two indices.
    const row = await listing.collect([[first, Math.min(end, Math.max(index, wanted) + 2)]]);
    const numbers = row.map((entry) => entry.manualPosition ?? null);
    const descending = browser.order === "desc";
    const signed = descending ? numbers.map((number) => (number === null ? null : -number)) : numbers;
    const moved: [id: string, before: number | null, after: number][] = [];
    for (const [nth, position] of reposition(signed, index - first, wanted - first)) {
      const id = row[nth]!.id;
      const manualPosition = descending ? -position : position;
      await take(client.PUT("/api/files/{id}", { params: { path: { id } }, body: { manualPosition } }));
      moved.push([id, numbers[nth]!, manualPosition]);
    }
    if (tell) toastOrder(row[index - first]!, moved);
    await browser.refresh(row[index - first]!.id);
    await tick();
    browser.focus(browser.selection.active);
  } catch (cause) {
    browser.complain(cause, () => void browser.reorder(index, to, tell));
  }
}
