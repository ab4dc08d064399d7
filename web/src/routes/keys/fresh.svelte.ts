/**
 * The key that was made just now, until somebody says that its secret is saved. It outlives the screen, so that going back by mistake does not lose
 * it, but not the page.
 */
import type { FreshKey } from "../../lib/clients/key";

class Fresh {
  key = $state.raw<FreshKey>();
}

export const fresh = new Fresh();
