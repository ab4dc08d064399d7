/** The folders of trees that are uploaded, made before what goes into them, each once. */
import { client, Failure, take } from "../api";
import { below } from "./item";
import { persevere, type Slots } from "./patience";

export class Folders {
  private made = new Map<string, Promise<void>>();
  /** Nobody's: what one file waits for, others wait for as well, and it is not to end with the first. */
  private signal = new AbortController().signal;

  constructor(private slots: Slots) {}

  /** Makes the folders of a relative path below one that exists: "a/b" makes a, and b in it. Those that are there already are fine. Throws Failure. */
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
      await persevere(this.signal, () =>
        this.slots.use(this.signal, () => take(client.POST("/api/files/folder", { body: { path, name } }))),
      );
    } catch (cause) {
      if (!(cause instanceof Failure && cause.code === "ALREADY_EXISTS")) throw cause;
    }
  }
}
