/** A folder of the bucket, of which the server sends a thousand items at a time. */
import { itemIn, merge, type Item } from "./keys";
import { sentence } from "./problems";
import { list } from "./requests";
import type { FreeSession } from "./session.svelte";

export class Listing {
  /** undefined while the first page is loading. */
  items = $state.raw<readonly Item[]>();
  /** The cursor of the next page, null after the last one. */
  cursor = $state<string | null>(null);
  /** The number of objects with keys that cannot be used here. */
  hidden = $state(0);
  problem = $state("");
  busy = $state(false);
  /** Objects that were uploaded while a page is loading, which may not contain them. */
  private arrived: Item[] = [];

  constructor(
    private readonly free: FreeSession,
    readonly path: string,
  ) {
    void this.load();
  }

  /** Loads the first page. */
  load(): Promise<void> {
    this.items = undefined;
    this.hidden = 0;
    return this.page();
  }

  /** Loads the next page. */
  more(): Promise<void> {
    return this.page(this.cursor ?? undefined);
  }

  private async page(cursor?: string): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    this.problem = "";
    try {
      const page = await list(this.free, this.path, cursor);
      this.items = merge(merge(this.items ?? [], page.items), this.arrived);
      this.cursor = page.cursor;
      this.hidden += page.hidden;
    } catch (cause) {
      this.problem = sentence(cause);
    } finally {
      this.busy = false;
      this.arrived = [];
    }
  }

  /** Shows an object that was uploaded. */
  put(key: string, size: number): void {
    const item = itemIn(this.path, key, size);
    if (!item) return;
    if (this.busy) this.arrived.push(item);
    if (this.items) this.items = merge(this.items, [item]);
  }

  /** Leaves out an object that was deleted. */
  remove(key: string): void {
    this.arrived = this.arrived.filter((item) => item.key !== key);
    this.items = this.items?.filter((item) => item.key !== key);
  }
}
