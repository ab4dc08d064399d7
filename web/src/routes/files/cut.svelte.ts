/** Entries that were cut; pasting moves them. */
import type { Entry } from "../../lib/entry";

class Cut {
  entries = $state.raw<readonly Entry[]>([]);

  /** The number of cut entries that are not in this folder already. */
  into(path: string): number {
    return this.entries.filter((entry) => entry.path !== path).length;
  }

  has(id: string): boolean {
    return this.entries.some((entry) => entry.id === id);
  }
}

export const cut = new Cut();
