/** Bulk actions on entries: in batches, with an error for each entry that failed. */
import { client, Failure, take } from "./api";
import { explain, type Entry } from "./entry";
import { t } from "./i18n.svelte";
import { addAwaited, follow } from "./job";
import { parts } from "./parts";

/** The result of a bulk action. */
export interface Outcome {
  done: Entry[];
  failed: Trouble[];
  /** Ids of the items in the trash that deleted entries have become. */
  trashIds: string[];
}

export interface Trouble {
  entry: Entry;
  reason: string;
}

/** Receives the number of entries done; an entry that is being copied counts as a fraction. */
export type Progress = (done: number) => void;

const atOnce = 3;

/** Deletes entries for good. */
export function deleteAll(entries: readonly Entry[], progress: Progress, signal: AbortSignal): Promise<Outcome> {
  return inBatches({ action: "delete", trash: false }, entries, progress, signal);
}

/** Moves entries to the trash. `tooLarge` is the reason for an entry that the server keeps. */
export function trashAll(entries: readonly Entry[], progress: Progress, tooLarge: string): Promise<Outcome> {
  return inBatches({ action: "delete", trash: true }, entries, progress, undefined, { OPERATION_FAILED: tooLarge });
}

export function moveAll(entries: readonly Entry[], to: string, progress: Progress): Promise<Outcome> {
  return inBatches({ action: "move", targetPath: to }, entries, progress);
}

/**
 * Moves entries that are in the folder `from`. `elsewhere` is the reason for an entry that is not
 * there, or whose name is taken.
 */
export function moveAllFrom(
  from: string,
  entries: readonly Entry[],
  to: string,
  progress: Progress,
  elsewhere: string,
): Promise<Outcome> {
  const how = { action: "move", fromPath: from, targetPath: to } as const;
  return inBatches(how, entries, progress, undefined, { OPERATION_FAILED: elsewhere });
}

async function inBatches(
  how: { action: "delete"; trash: boolean } | { action: "move"; fromPath?: string; targetPath: string },
  entries: readonly Entry[],
  progress: Progress,
  signal?: AbortSignal,
  words?: Record<string, string>,
): Promise<Outcome> {
  const out: Outcome = { done: [], failed: [], trashIds: [] };
  const count = counter(progress);
  for (const part of parts(entries)) {
    const byId = new Map(part.map((entry) => [entry.id, entry]));
    try {
      const body = { ...how, fileIds: part.map((entry) => entry.id) };
      const { succeeded, failed, jobs, trashIds } = await take(client.POST("/api/files/batch", { body, signal }));
      out.trashIds.push(...trashIds);
      const working = new Map(jobs.map((job) => [job.id, job.jobId]));
      if (how.action === "move") addAwaited(jobs.map(({ jobId }) => ({ jobId, action: "move", to: how.targetPath })));
      for (const { id, code, error } of failed) {
        if (how.action === "delete" && code === "NOT_FOUND")
          out.done.push(byId.get(id)!); // another client has deleted the entry already
        else out.failed.push({ entry: byId.get(id)!, reason: reason(new Failure(code, error), words) });
      }
      for (const id of succeeded) if (!working.has(id)) out.done.push(byId.get(id)!);
      count.add(failed.length + succeeded.length - working.size);
      await each([...working], ([id, jobId]) => finish(byId.get(id)!, jobId, count, out, signal));
    } catch (cause) {
      signal?.throwIfAborted();
      for (const entry of part) out.failed.push({ entry, reason: reason(cause) });
      count.add(part.length);
    }
  }
  return out;
}

/**
 * Copies entries one by one, because the API has no batch for copies. A copy within the same folder
 * gets another name.
 */
export async function copyAll(entries: readonly Entry[], to: string, progress: Progress): Promise<Outcome> {
  const out: Outcome = { done: [], failed: [], trashIds: [] };
  const count = counter(progress);
  await each(entries, async (entry) => {
    let jobId: string;
    try {
      const body = { targetPath: to, newName: entry.path === to ? copyName(entry) : null };
      const params = { path: { id: entry.id } };
      ({ jobId } = await take(client.POST("/api/files/{id}/copy", { params, body })));
      addAwaited([{ jobId, action: "copy", to }]);
    } catch (cause) {
      out.failed.push({ entry, reason: reason(cause) });
      count.add(1);
      return;
    }
    await finish(entry, jobId, count, out);
  });
  return out;
}

/** Waits for the job of one entry. */
async function finish(entry: Entry, jobId: string, count: Counter, out: Outcome, signal?: AbortSignal): Promise<void> {
  try {
    await follow(jobId, (percent) => count.part(jobId, percent / 100), signal);
    out.done.push(entry);
  } catch (cause) {
    signal?.throwIfAborted();
    out.failed.push({ entry, reason: reason(cause) });
  }
  count.part(jobId, 1);
}

/** Returns `cat (1).jpg` for `cat.jpg`, as the server names a file whose name is taken. */
export function copyName({ name, type }: Pick<Entry, "name" | "type">): string {
  const dot = type === "file" ? name.lastIndexOf(".") : -1;
  return dot > 0 ? `${name.slice(0, dot)} (1)${name.slice(dot)}` : `${name} (1)`;
}

/** The message for the failure of one entry. */
export function reason(cause: unknown, words: Record<string, string> = { OPERATION_FAILED: t.files.conflict }): string {
  return explain(cause, words);
}

interface Counter {
  add(entries: number): void;
  part(job: string, of: number): void;
}

/** Adds up the entries that are done, and the parts of those whose jobs run. */
export function counter(progress: Progress): Counter {
  const jobs = new Map<string, number>();
  let whole = 0;
  const tell = () => progress([...jobs.values()].reduce((sum, part) => sum + part, whole));
  return {
    add(entries) {
      whole += entries;
      tell();
    },
    part(job, of) {
      jobs.set(job, of);
      tell();
    },
  };
}

/** Calls `work` for each item of a list, a few at a time. */
export async function each<Item>(list: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < list.length) await work(list[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, list.length) }, worker));
}
