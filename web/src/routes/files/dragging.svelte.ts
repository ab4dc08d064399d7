/** Dragging of entries: onto folders, which moves them there, or within a manual order. */
import { pathOf } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import type { Browser } from "./browser.svelte";

/** Distinguishes entries of this page from files that are dragged into the window. */
export const draggedType = "application/x-larder-entries";

export class Dragging {
  /** The index of the folder under the pointer. */
  target = $state(-1);
  /** The gap under the pointer: the index of the entry after it. */
  place = $state(-1);

  constructor(
    private readonly browser: () => Browser,
    /** Whether entries are rows of a list. */
    private readonly list: () => boolean,
  ) {}

  start = (event: DragEvent): void => {
    const browser = this.browser();
    const index = indexOf(event);
    if (index < 0 || !event.dataTransfer) return;
    if (!browser.selection.has(index)) browser.selection.only(index);
    browser.dragging = true;
    event.dataTransfer.setData(draggedType, "");
    event.dataTransfer.effectAllowed = "move";
    const { count } = browser.selection;
    const image = document.createElement("div");
    image.className = "button dragged";
    image.textContent = count === 1 ? (browser.listing.at(index)?.name ?? "") : t.files.items(count);
    document.body.append(image);
    event.dataTransfer.setDragImage(image, -12, -12);
    setTimeout(() => image.remove());
  };

  over = (event: DragEvent): void => {
    const browser = this.browser();
    if (!browser.dragging) return;
    this.leave();
    const cell = (event.target as Element).closest<HTMLElement>("[data-index]");
    if (!cell) return;
    const index = Number(cell.dataset.index);
    const entry = browser.listing.at(index);
    const box = cell.getBoundingClientRect();
    const part = this.list() ? (event.clientY - box.top) / box.height : (event.clientX - box.left) / box.width;
    if (browser.byHand && (entry?.type !== "folder" || part < 0.25 || part > 0.75)) {
      this.place = part < 0.5 ? index : index + 1;
    } else if (entry?.type === "folder" && !browser.selection.has(index)) {
      this.target = index;
    } else return;
    event.preventDefault();
    event.dataTransfer!.dropEffect = "move";
  };

  leave = (): void => {
    this.target = -1;
    this.place = -1;
  };

  drop = (event: DragEvent): void => {
    const browser = this.browser();
    const { target, place } = this;
    if (!browser.dragging) return;
    event.preventDefault();
    this.end();
    if (target >= 0) {
      const folder = browser.listing.at(target);
      if (folder) void browser.moveInto(pathOf(folder));
    } else if (place >= 0 && browser.selection.count === 1) {
      const from = browser.selection.chosen[0]![0];
      void browser.reorder(from, place > from ? place - 1 : place);
    }
  };

  end = (): void => {
    this.browser().dragging = false;
    this.leave();
  };
}

function indexOf(event: Event): number {
  return Number((event.target as Element).closest<HTMLElement>("[data-index]")?.dataset.index ?? -1);
}
