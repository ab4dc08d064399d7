/**
 * Announces folders that have changed in the background: an upload has finished there, or a move.
 * This module is separate from the uploads, which are loaded only when they are needed.
 */

type Listener = (folder: string) => void;

const listeners = new Set<Listener>();

/**
 * Calls the listener with each folder that has changed. Returns a function that removes the
 * listener.
 */
export function onFolderChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function folderChanged(folder: string): void {
  for (const listener of listeners) listener(folder);
}
