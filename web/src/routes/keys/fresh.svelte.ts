/**
 * The key that was just created, until the user confirms that its secret is saved. It survives a
 * change of screen, for example by Back, but not the page.
 */
import type { FreshKey } from "../../lib/clients/key";

class Fresh {
  key = $state.raw<FreshKey>();
}

export const fresh = new Fresh();
