/** Reports whether a dialog or a menu is open. */
export function overlayOpen(): boolean {
  return document.querySelector("dialog[open], :popover-open") !== null;
}

/**
 * Reports whether shortcuts without a modifier are inactive, because a dialog or a menu is open, or
 * the target of the key is a field.
 */
export function resting(target: Element): boolean {
  if (overlayOpen()) return true;
  if (target.matches("input[type=checkbox]")) return false;
  return target.matches("input, textarea, select, [contenteditable]");
}
