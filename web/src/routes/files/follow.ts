/** Notices changes of the open folder by other people and programs. */
import { client, Failure, take } from "../../lib/api";
import { session } from "../../lib/session.svelte";
import { gone } from "./browser.svelte";

/** The first request, ms after the folder is shown. */
const first = 500;
/** The pause between two requests in ms: changes are to be seen within 5 s. */
const pause = 3500;
/** The pause as a multiple of the time of a request, in folders so large that it takes long. */
const share = 20;

/**
 * Calls `changed` after each change in a folder, while the page is visible. `total` is the number
 * of entries that the page shows, or of those it knows. Returns a function that ends this.
 */
export function follow(path: string, total: () => number, changed: () => void): () => void {
  const stop = new AbortController();
  let known: string | undefined;

  async function ask(): Promise<void> {
    const begun = performance.now();
    if (!document.hidden && !session.offline) {
      const state = await stateOf(path, stop.signal);
      if (stop.signal.aborted) return;
      if (state) {
        if (known === undefined ? state.total !== total() : state.id !== known) changed();
        known = state.id;
      }
    }
    timer = setTimeout(ask, Math.max(pause, share * (performance.now() - begun)));
  }
  let timer = setTimeout(ask, first);
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}

/**
 * The state of a folder, also that it cannot be listed any more; undefined if the server does not
 * tell it.
 */
async function stateOf(path: string, signal: AbortSignal): Promise<{ id: string; total: number } | undefined> {
  try {
    const { revision, total } = await take(client.GET("/api/files/revision", { params: { query: { path } }, signal }));
    return { id: revision, total };
  } catch (cause) {
    return cause instanceof Failure && gone.includes(cause.code) ? { id: cause.code, total: -1 } : undefined;
  }
}
