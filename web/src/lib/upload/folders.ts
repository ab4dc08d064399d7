/** Creates the folders of an uploaded tree before their content, each once. */
import { client, Failure, take } from "../api";
import { below } from "./item";
import { withRetry, type Slots } from "./retry";

export class Folders {
  private made = new Map<string, Promise<void>>();
  /**
   * This signal is never aborted: several files may wait for the same folder, and cancelling one of
   * them must not stop the others.
   */
  private signal = new AbortController().signal;

  constructor(private slots: Slots) {}

  /**
   * Creates the folders of a relative path below an existing folder: "a/b" creates a, and b in it.
   * Existing folders are accepted. Throws Failure.
   */
  async ensure(base: string, relative: string): Promise<void> {
    let path = base;
    for (const name of relative.split("/").filter(Boolean)) {
      const folder = below(path, name);
      let making = this.made.get(folder);
      if (!making) {
        making = this.make(path, name);
        this.made.set(folder, making);
        making.catch(() => this.made.delete(folder));
      }
      await making;
      path = folder;
    }
  }

  private async make(path: string, name: string): Promise<void> {
    try {
      await withRetry(this.signal, () =>
        this.slots.use(this.signal, () => take(client.POST("/api/files/folder", { body: { path, name } }))),
      );
    } catch (cause) {
      if (!(cause instanceof Failure && cause.code === "ALREADY_EXISTS")) throw cause;
    }
  }
}
