/** A list of records of which the server sends one page at a time. */
import { explain } from "./entry";
import { goQuery, route } from "./router.svelte";

interface Answer<Row> {
  items: readonly Row[];
  pagination: { total: number };
}

/** The page of the list is in the address (`?page=`), from 1. */
export class PagedList<Row> {
  /** undefined while the first records are loading. */
  rows = $state.raw<readonly Row[]>();
  total = $state(0);
  /** The reason why the list could not be loaded, "" if there is none. */
  problem = $state("");
  busy = $state(false);
  #asked = 0;

  /** `request` asks the server for a page of at most `limit` records. */
  constructor(
    readonly limit: number,
    private readonly request: (page: number, limit: number) => Promise<Answer<Row>>,
  ) {}

  get page(): number {
    return Math.max(1, Math.min(1e9, Math.floor(Number(route.query.get("page")) || 1)));
  }

  /** Shows another page. */
  turn(page: number): void {
    goQuery({ page: page === 1 ? null : String(page) });
  }

  /**
   * Loads the page that the address names; the last page, if there are fewer. Called in an effect,
   * it runs again when the page or the filters that `request` reads have changed.
   */
  load(): Promise<void> {
    const request = this.request(this.page, this.limit);
    this.busy = true;
    this.problem = "";
    return this.#show(request, (cause) => (this.problem = explain(cause)));
  }

  /** Loads the page again when the user comes back to the tab; a failure leaves it as it is. */
  async refresh(): Promise<void> {
    if (!this.busy && this.problem === "") await this.#show(this.request(this.page, this.limit), () => undefined);
  }

  async #show(request: Promise<Answer<Row>>, failed: (cause: unknown) => void): Promise<void> {
    const asked = ++this.#asked;
    try {
      const { items, pagination } = await request;
      if (asked !== this.#asked) return;
      if (items.length === 0 && pagination.total > 0) {
        goQuery({ page: String(Math.ceil(pagination.total / this.limit)) }, { replace: true });
        return;
      }
      this.rows = items;
      this.total = pagination.total;
    } catch (cause) {
      if (asked === this.#asked) failed(cause);
    } finally {
      if (asked === this.#asked) this.busy = false;
    }
  }
}
