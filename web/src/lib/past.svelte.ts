/** A folder as it was at an earlier time, loaded piece by piece. */
import { client, Failure, failure, take, type Schemas } from "./api";
import { pathOf } from "./entry";
import type { Version } from "./versions";

export type PastEntry = Schemas["ApiListedReply"];
export type Gap = Schemas["ApiGapReply"];
export type Plan = Schemas["ApiRewindPlanReply"];

/** The number of entries that are loaded at a time. */
const piece = 200;

/** How often a time is corrected that the service refuses. */
const corrections = 2;

/** How much later than the earliest time (ms) a folder is shown while that time moves on. */
const spare = 10 * 60_000;

export interface PastQuery {
  /** The path that the folder had at that time, or a present path. `id` names a folder below it. */
  path: string;
  id: string;
  /** ms; undefined for the present. */
  at: number | undefined;
}

export class Past {
  /** undefined while the first entries are loading. */
  items = $state.raw<readonly PastEntry[]>();
  /** The folder as it was. */
  folder = $state.raw<Schemas["ApiEntryReply"]>();
  /** The earliest time, ms; undefined before the first answer. */
  since = $state<number>();
  /** The later times that the service does not know either, in order. */
  gaps = $state.raw<readonly Gap[]>([]);
  /** The time that is shown, ms; undefined before the first request. */
  at = $state<number>();
  /** The latest time that can be shown, ms, by the clock of the service; undefined at first. */
  now = $state<number>();
  more = $state(false);
  busy = $state(false);
  /** Why nothing is shown. */
  problem = $state.raw<Failure>();
  #asked = 0;
  #query: PastQuery | undefined;

  /**
   * Loads a folder. The present is that of the first call; `again` reads the clock of the service
   * again, so that the folder contains what has just changed.
   */
  async load(query: PastQuery, again = false): Promise<void> {
    this.#query = query;
    await this.#request(query, 1, again);
  }

  /** Loads the next entries. */
  async next(): Promise<void> {
    if (this.#query && !this.busy) await this.#request(this.#query, (this.items?.length ?? 0) / piece + 1);
  }

  async #request(query: PastQuery, page: number, again = false): Promise<void> {
    const asked = ++this.#asked;
    this.busy = true;
    try {
      if (again || this.now === undefined) this.now = await timeOfService();
      if (asked !== this.#asked) return;
      if (page === 1) this.at = Math.min(query.at ?? this.now, this.now);
      const found = await this.#find(query, page, asked);
      if (!found || asked !== this.#asked) return;
      this.problem = undefined;
      this.items = page > 1 ? [...(this.items ?? []), ...found.items] : found.items;
      this.more = this.items.length < found.pagination.total;
      this.folder = found.folder ?? undefined;
      this.#learn(found);
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

  /** The gap that contains a time (ms), undefined for a time in none. */
  gapAt(time: number): Gap | undefined {
    return this.gaps.find(({ since, until }) => since <= time && time < until);
  }

  #learn({ knownSince, gaps }: Schemas["ApiListFilesReply"]): void {
    this.since = knownSince;
    this.gaps = gaps ?? [];
  }

  /**
   * Requests a page of the folder as it was at the time `at`. The first page corrects a time that
   * the service refuses: the present of a replica whose clock is ahead of another's, a time in a
   * gap, or an earliest time that has moved on a little since the service said it. If more of the
   * past is lost, `since` is then the new earliest time. Resolves to undefined if a later request
   * replaces this one. Throws Failure.
   */
  async #find({ path, id }: PastQuery, page: number, asked: number) {
    const opened = id || (page > 1 && this.folder?.id); // all pages are of one folder
    for (let tries = 0; ; tries++) {
      const at = this.at!;
      const query = { at, limit: piece, page, sort: "name" as const, ...(opened ? { folderId: opened } : { path }) };
      const { data, error, response } = await client.GET("/api/files", { params: { query } });
      if (asked !== this.#asked) return undefined;
      if (data) return data.data;
      const cause = failure(error, response.status, response.headers);
      if (cause.code !== "VALIDATION_ERROR" || page > 1 || tries === corrections) throw cause;
      const told = error.timestamp;
      if (at > told) this.now = this.at = told;
      else if (this.since !== undefined && at < this.since) throw cause;
      else {
        const present = await client.GET("/api/files", { params: { query: { ...query, at: told, limit: 1 } } });
        if (asked !== this.#asked) return undefined;
        if (!present.data) throw cause;
        this.#learn(present.data.data);
        const since = this.since ?? 0;
        const gap = this.gapAt(at);
        if (Math.max(since, gap?.until ?? 0) > this.now!) this.now = told;
        if (!gap && (at >= since || since - at > spare)) throw cause;
        // an earliest time stays known for a while
        this.at = gap ? gap.until : Math.round(since + Math.min(spare, (told - since) / 10));
      }
    }
  }
}

/** The time of the service, ms. Throws Failure. */
async function timeOfService(): Promise<number> {
  const { data, error, response } = await client.GET("/api/public/features");
  if (!data) throw failure(error, response.status, response.headers);
  return data.timestamp;
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

/** The present path of a folder; "" if it has none or the user may not see it. Throws Failure. */
export async function presentPath(id: string): Promise<string> {
  const { data, error, response } = await client.GET("/api/files/{id}", { params: { path: { id } } });
  if (data) return pathOf(data.data.file);
  if (response.status === 404) return "";
  throw failure(error, response.status, response.headers);
}

/** Copies an entry as it was at a time (ms) to a folder of now. Throws Failure. */
export function copyFrom(id: string, at: number, targetPath: string): Promise<Schemas["ApiCopyFileReply"]> {
  return take(client.POST("/api/files/{id}/copy", { params: { path: { id } }, body: { targetPath, at } }));
}
