/** Shows the progress and the result of jobs on the server, also after the page is loaded again. */
import { show } from "./activities.svelte";
import { Failure } from "./api";
import { counter, each, reason } from "./bulk";
import { shownName } from "./entry";
import { dateTime, locale, t } from "./i18n.svelte";
import { awaited, follow, type Awaited } from "./job";
import { toast } from "./toasts.svelte";
import { folderChanged } from "./upload/changes";

/** Shows the jobs that this tab waited for before it loaded the page; one card for each action. */
export async function resumeJobs(): Promise<void> {
  const actions = new Map<string, Awaited[]>();
  for (const job of awaited()) {
    const action = `${job.action} ${job.at} ${job.to}`;
    actions.set(action, [...(actions.get(action) ?? []), job]);
  }
  await Promise.all([...actions.values()].map((jobs) => showJobs(jobs)));
}

/**
 * Waits for the jobs of one action on one folder. `say` has the texts, by default those of the
 * action.
 */
export async function showJobs(jobs: readonly Awaited[], say = textsOf(jobs[0]!)): Promise<void> {
  const { to } = jobs[0]!;
  const card = show(say.running, jobs.length);
  const count = counter(card.progress);
  const failed: unknown[] = [];
  let done = 0;
  await each(jobs, async ({ jobId }) => {
    try {
      await follow(jobId, (percent) => count.part(jobId, percent / 100));
      done++;
    } catch (cause) {
      // of a job that ended long ago, the bell has told
      if (!(cause instanceof Failure && cause.code === "NOT_FOUND")) failed.push(cause);
    }
    count.part(jobId, 1);
  });
  card.end();
  folderChanged(to);
  if (done > 0) toast("ok", say.done(done), say.next);
  if (failed.length > 0) toast("error", say.failed(failed.length, failed[0]));
}

interface Texts {
  running: string;
  done: (jobs: number) => string;
  failed: (jobs: number, cause: unknown) => string;
  /** The button of the message that jobs are done. */
  next?: { label: string; run: () => void };
}

function textsOf({ action, to, at = 0 }: Awaited): Texts {
  const name = shownName(to) || t.files.home;
  if (action === "rewind")
    return {
      running: t.past.bringing(name),
      done: () => t.past.brought(name, dateTime(at)),
      failed: (_, cause) => t.past.partly(name) + inEnglish(cause),
    };
  if (action === "copy")
    return {
      running: t.changes.copying(name),
      done: (jobs) => t.changes.copied(jobs, name),
      failed: (jobs, cause) => t.changes.notCopied(jobs, reason(cause)),
    };
  return {
    running: t.changes.moving(name),
    done: (jobs) => t.changes.moved(jobs, name),
    failed: (jobs, cause) => t.changes.notMoved(jobs, reason(cause)),
  };
}

/** The reason that the server gives, with a leading space; "" where the page is not in English. */
function inEnglish(cause: unknown): string {
  return cause instanceof Failure && cause.message && locale() === "en-US" ? ` ${cause.message}` : "";
}
