/** Data that a screen loads at its start, and again after changes. */
import { explain } from "./entry";

export class Loaded<Data> {
  /** undefined while it is loading for the first time. */
  data = $state.raw<Data>();
  /** The reason why it could not be loaded, "" if there is none. */
  problem = $state("");
  #asked = 0;
  /** Requests under way. */
  #open = 0;

  constructor(private readonly request: () => Promise<Data>) {
    void this.load();
  }

  load(): Promise<void> {
    this.problem = "";
    return this.#show((cause) => (this.problem = explain(cause)));
  }

  /** Loads the data again when the user comes back to the tab; a failure leaves it as it is. */
  async refresh(): Promise<void> {
    if (this.data !== undefined && this.problem === "" && this.#open === 0) await this.#show(() => undefined);
  }

  /** Shows the answer of the latest request only. */
  async #show(failed: (cause: unknown) => void): Promise<void> {
    const asked = ++this.#asked;
    this.#open++;
    try {
      const data = await this.request();
      if (asked === this.#asked) this.data = data;
    } catch (cause) {
      if (asked === this.#asked) failed(cause);
    } finally {
      this.#open--;
    }
  }
}
