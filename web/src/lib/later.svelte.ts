/** Modules that are loaded when they are first needed. */
import { session } from "./session.svelte";

/**
 * Loads a module, again and again each time the connection returns. For {#await}: the promise does
 * not reject. The listener of vite:preloadError tells the user about a module that cannot be
 * loaded.
 */
export async function later<Module>(load: () => Promise<Module>): Promise<Module> {
  for (;;) {
    try {
      return await load();
    } catch {
      await reconnected();
    }
  }
}

/** Resolves when the server can be reached after it could not. */
function reconnected(): Promise<void> {
  return new Promise((resolve) => {
    let offline = false;
    const stop = $effect.root(() => {
      $effect(() => {
        if (offline && !session.offline) {
          stop();
          resolve();
        }
        offline = session.offline;
      });
    });
  });
}
