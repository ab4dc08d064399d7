import { tick } from "svelte";

/**
 * Moves the focus to an element, by default the content of the page, if the change that was just
 * made to the page has removed the focused element.
 */
export async function holdFocus(to?: HTMLElement | null): Promise<void> {
  await tick();
  if (document.activeElement === document.body) (to ?? document.getElementById("content"))?.focus();
}
