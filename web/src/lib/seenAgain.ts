/** Notices that the user comes back to the tab. */

/**
 * Calls `again` each time the page is seen again after it was hidden: another device or person may
 * have changed what it shows. Returns a function that ends this.
 */
export function onSeenAgain(again: () => void): () => void {
  const changed = () => {
    if (!document.hidden) again();
  };
  document.addEventListener("visibilitychange", changed);
  return () => document.removeEventListener("visibilitychange", changed);
}
