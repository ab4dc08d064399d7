/** Who hears of folders in which something has changed behind the page's back: files that have arrived, or were moved meanwhile. It stands apart from the uploads, which are loaded only when they are needed. */

type Listener = (folder: string) => void;

const listeners = new Set<Listener>();

/** Calls back for each such change, with the folder it was in. Returns how to end that. */
export function onArrival(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function arrived(folder: string): void {
  for (const listener of listeners) listener(folder);
}
