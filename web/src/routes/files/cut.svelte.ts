/** Entries that were cut, to be moved to where they are pasted. */
import type { Entry } from "../../lib/entry";

class Cut {
  entries = $state.raw<readonly Entry[]>([]);

  /** How many of them can be moved to a folder; those that are there already are none. */
  into(path: string): number {
    return this.entries.filter((entry) => entry.path !== path).length;
  }

  has(id: string): boolean {
    return this.entries.some((entry) => entry.id === id);
  }
}

export const cut = new Cut();
