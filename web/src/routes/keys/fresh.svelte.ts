/**
 * The key that was just created, until the user confirms that its secret is saved, and its test.
 * They survive a change of screen, for example by Back, but not the page.
 */
import type { FreshKey } from "../../lib/clients/key";

class Fresh {
  key = $state.raw<FreshKey>();
  /** The last test upload that succeeded, by the server's clock in ms. */
  tested = { keyId: "", at: 0 };

  /**
   * The last use of a key, as the server lists it, or its test upload: the replica that answers may
   * not know of an upload to another one for some seconds.
   */
  lastUse(keyId: string, listed: number | null): number | null {
    return keyId === this.tested.keyId ? Math.max(listed ?? 0, this.tested.at) : listed;
  }
}

export const fresh = new Fresh();
