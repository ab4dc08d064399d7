/** Notices changes of the open folder, or of the open timeline, by other people and programs. */
import { accountHeaders, checkAccount, pausedBy, ready, type Schemas } from "./api";
import { session } from "./session.svelte";

/** The state of a folder. That of a share also states what its creator can change. */
export type ShareState = Schemas["ApiFolderRevisionReply"] & Partial<Schemas["ApiShareRevisionReply"]>;
type Answer = { data?: ShareState; error?: { code: string } };

/** The pause between two requests in ms: changes are to be seen within 5 s. */
const interval = 3500;
/** The pause as a multiple of the time of a request, in folders so large that it takes long. */
const share = 20;
/** The longest pause, in ms. */
const longest = 10_000;

/**
 * Calls `changed` after each change in a folder or timeline, while the page is visible: with "", or
 * with the code of an error, of those in `ends`, when the folder cannot be listed any more.
 * `address` is that of the state, see Source; `total` returns the number of entries in the listing
 * of the page. `saw` receives each state of a share. Returns a function that ends this.
 */
export function follow(
  address: string,
  total: () => number,
  ends: readonly string[],
  changed: (code: string) => void,
  saw?: (state: ShareState) => void,
): () => void {
  const stop = new AbortController();
  let known: string | undefined;

  async function ask(): Promise<void> {
    const begun = Date.now();
    if (!document.hidden && !session.offline) {
      const state = await stateOf(address, ends, stop.signal);
      if (stop.signal.aborted) return;
      if (state) {
        if (state.data) saw?.(state.data);
        if (known === undefined ? state.total !== total() : state.id !== known) changed(state.code);
        known = state.id;
      }
    }
    timer = setTimeout(ask, Math.min(longest, Math.max(interval, share * (Date.now() - begun))));
  }
  // The first request is sent at once. Until its answer, the page notices a change only by the
  // number of entries.
  let timer = setTimeout(ask);
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}

/**
 * The state of a folder, also that it cannot be listed any more; undefined if the server does not
 * tell it. The request is not one of the user's: its failures are not reported, and a session that
 * has ended is left to the next action. Another account in this browser is reported.
 */
async function stateOf(
  address: string,
  ends: readonly string[],
  signal: AbortSignal,
): Promise<{ id: string; total: number; code: string; data?: ShareState } | undefined> {
  try {
    await ready(signal);
    const answer = await fetch(address, { headers: accountHeaders(), signal });
    if (pausedBy(answer)) return undefined;
    await checkAccount(answer.headers);
    const { data, error } = (await answer.json()) as Answer;
    if (data) return { id: data.revision, total: data.total, code: "", data };
    return error && ends.includes(error.code) ? { id: error.code, total: -1, code: error.code } : undefined;
  } catch {
    return undefined;
  }
}
