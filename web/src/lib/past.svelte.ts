/** A folder as it was at an earlier time, loaded piece by piece. */
import { client, Failure, take, type Schemas } from "./api";
import { pathOf } from "./entry";
import type { Version } from "./versions";

export type PastEntry = Schemas["ApiListedReply"];
export type Plan = Schemas["ApiRewindPlanReply"];

/** The number of entries that are loaded at a time. */
const piece = 200;

export interface PastQuery {
  /** A present path; `id` names a folder below it. */
  path: string;
  id: string;
  /** ms */
  at: number;
}

export class Past {
  /** undefined while the first entries are loading. */
  items = $state.raw<readonly PastEntry[]>();
  /** The folder as it was. */
  folder = $state.raw<Schemas["ApiEntryReply"]>();
  /** The earliest time, ms; undefined before the first answer. */
  since = $state<number>();
  more = $state(false);
  busy = $state(false);
  /** Why nothing is shown. */
  problem = $state.raw<Failure>();
  #asked = 0;
  #query: PastQuery | undefined;

  async load(query: PastQuery): Promise<void> {
    this.#query = query;
    await this.#request(query, 1);
  }

  /** Loads the next entries. */
  async next(): Promise<void> {
    if (this.#query && !this.busy) await this.#request(this.#query, (this.items?.length ?? 0) / piece + 1);
  }

  async #request({ path, id, at }: PastQuery, page: number): Promise<void> {
    const asked = ++this.#asked;
    this.busy = true;
    try {
      const query = { at, limit: piece, page, sort: "name" as const, ...(id ? { folderId: id } : { path }) };
      const found = await take(client.GET("/api/files", { params: { query } }));
      if (asked !== this.#asked) return;
      this.problem = undefined;
      this.items = page > 1 ? [...(this.items ?? []), ...found.items] : found.items;
      this.more = this.items.length < found.pagination.total;
      this.folder = found.folder ?? undefined;
      this.since = found.completeSince;
    } catch (cause) {
      if (asked !== this.#asked) return;
      if (!(cause instanceof Failure)) throw cause;
      this.problem = cause;
      this.items = undefined;
      this.more = false;
    } finally {
      if (asked === this.#asked) this.busy = false;
    }
  }
}

/** The address of the content that a file had, for an image element. */
export const contentAt = (id: string, at: number) => `/api/files/${id}/download?at=${at}`;

/** An address that downloads the content that a file had once. Throws Failure. */
export async function downloadAt(id: string, at: number): Promise<string> {
  return (await take(client.GET("/api/files/{id}/download", { params: { path: { id }, query: { at } } }))).url;
}

/** The version that a file had at a time (ms). */
export function versionAt(versions: readonly Version[], at: number): Version | undefined {
  return versions.find(({ since, until }) => since <= at && at < until);
}

/** What would change if a folder were brought back to a time (ms). Throws Failure. */
export async function planRewind(id: string, at: number): Promise<Plan> {
  const body = { at, dryRun: true };
  const { plan } = await take(client.POST("/api/files/{id}/rewind", { params: { path: { id } }, body }));
  if (!plan) throw new Error("the answer has no plan");
  return plan;
}

/** Begins to bring a folder back to a time (ms), and returns the id of the job. Throws Failure. */
export async function rewind(id: string, at: number): Promise<string> {
  const { jobId } = await take(client.POST("/api/files/{id}/rewind", { params: { path: { id } }, body: { at } }));
  return jobId ?? "";
}

/** The present path of a folder; undefined when it has none, or when the user may not see it. */
export async function presentPath(id: string): Promise<string | undefined> {
  const { data } = await client.GET("/api/files/{id}", { params: { path: { id } } });
  return data?.data && pathOf(data.data.file);
}

/** Copies an entry as it was at a time (ms) to a folder of now. Throws Failure. */
export function copyFrom(id: string, at: number, targetPath: string): Promise<Schemas["ApiCopyFileReply"]> {
  return take(client.POST("/api/files/{id}/copy", { params: { path: { id } }, body: { targetPath, at } }));
}
