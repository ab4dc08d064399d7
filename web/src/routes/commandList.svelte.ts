/** The command list, which opens on every screen of an account by Ctrl+K or `/`. */
import { overlayOpen, resting } from "../lib/shortcut";
import { views } from "../lib/views.svelte";
import type { Browser } from "./files/browser.svelte";

class CommandList {
  open = $state(false);
  /** The folder or collection on the screen, whose actions the list offers. */
  here = $state.raw<Browser>();
}

export const commandList = new CommandList();

/** Reports whether a key opens the list: Ctrl+K also while a field has the focus. */
export function opensCommands(event: KeyboardEvent): boolean {
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  if (event.isComposing || altKey) return false;
  if (ctrlKey || metaKey) return !shiftKey && key.toLowerCase() === "k" && !overlayOpen();
  return key === "/" && views.keys && !resting(event.target as Element);
}
