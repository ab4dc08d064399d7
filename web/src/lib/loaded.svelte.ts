/** Data that a screen loads at its start, and again after changes. */
import { explain } from "./entry";

export class Loaded<Data> {
  /** undefined while it is loading for the first time. */
  data = $state.raw<Data>();
  /** The reason why it could not be loaded, "" if there is none. */
  problem = $state("");

  constructor(private readonly request: () => Promise<Data>) {
    void this.load();
  }

  async load(): Promise<void> {
    this.problem = "";
    try {
      this.data = await this.request();
    } catch (cause) {
      this.problem = explain(cause);
    }
  }
}
