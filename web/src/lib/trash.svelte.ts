/** The trash of the signed-in account, loaded piece by piece. */
import { client, Failure, take, type Schemas } from "./api";
import { explain } from "./entry";

export type Trashed = Schemas["ApiTrashItemReply"];
type Page = Schemas["ApiListTrashReply"];

/** The number of items that are loaded at a time. */
const most = 100;

export class Trash {
  /** undefined while the first items are loading. */
  items = $state.raw<readonly Trashed[]>();
  kept = $state(0);
  /** The bound of `kept`, -1 for none. */
  most = $state(-1);
  /** There are more items than the loaded ones. */
  more = $state(false);
  busy = $state(false);
  /** The reason why items could not be loaded, "" if there is none. */
  problem = $state("");
  #cursor: string | null = null;
  #asked = 0;

  constructor(private readonly search: () => string) {}

  /** Loads the first items again. Called in an effect, it runs again when the search changes. */
  load(): Promise<void> {
    return this.#request(undefined);
  }

  /** Loads the next items. */
  async next(): Promise<void> {
    if (this.#cursor !== null && !this.busy) await this.#request(this.#cursor);
  }

  /** Loads as many items again as are loaded when the user comes back to the tab. */
  async refresh(): Promise<void> {
    if (this.busy || this.problem !== "" || !this.items) return;
    const asked = ++this.#asked;
    try {
      const pages = [await this.#page(undefined)];
      while (pages.length * most < this.items.length && pages.at(-1)!.nextCursor)
        pages.push(await this.#page(pages.at(-1)!.nextCursor!));
      if (asked === this.#asked)
        this.#show(
          pages.at(-1)!,
          pages.flatMap(({ items }) => items),
        );
    } catch {
      // the items stay as they are
    }
  }

  async #request(cursor: string | undefined): Promise<void> {
    const asked = ++this.#asked;
    const page = this.#page(cursor);
    this.busy = true;
    this.problem = "";
    try {
      const { items } = await page;
      if (asked === this.#asked) this.#show(await page, cursor ? [...(this.items ?? []), ...items] : items);
    } catch (cause) {
      if (asked === this.#asked) this.problem = explain(cause);
    } finally {
      if (asked === this.#asked) this.busy = false;
    }
  }

  #page(cursor: string | undefined): Promise<Page> {
    const search = this.search();
    const query = { limit: most, ...(search && { search }), ...(cursor && { cursor }) };
    return take(client.GET("/api/trash", { params: { query } }));
  }

  #show({ nextCursor, keptStorage, maxKept }: Page, items: readonly Trashed[]): void {
    this.items = items;
    this.#cursor = nextCursor;
    this.more = nextCursor !== null;
    this.kept = keptStorage;
    this.most = maxKept;
  }
}

/**
 * Brings an entry back to the folder `targetPath`, without it to the folder that it was in, and
 * returns it. Throws Failure.
 */
export async function restore(id: string, targetPath?: string): Promise<Schemas["ApiEntryReply"]> {
  const body = targetPath === undefined ? {} : { targetPath };
  return (await take(client.POST("/api/trash/{id}/restore", { params: { path: { id } }, body }))).file;
}

/** Reports whether a refused restore may succeed with another folder. */
export function anotherFolderHelps(cause: unknown): boolean {
  return cause instanceof Failure && reasonsOfPlace.includes(cause.code);
}

const reasonsOfPlace = ["OPERATION_FAILED", "FORBIDDEN", "VALIDATION_ERROR", "PASSWORD_REQUIRED"];

/** Deletes an entry of the trash for good. Throws Failure. */
export async function purge(id: string): Promise<void> {
  await take(client.DELETE("/api/trash/{id}", { params: { path: { id } } }));
}

/**
 * Empties the trash. Resolves to the job that deletes the rest, null if everything is deleted
 * already. Throws Failure.
 */
export async function emptyTrash(): Promise<string | null> {
  return (await take(client.DELETE("/api/trash"))).jobId;
}
