/** Shows the progress of the moves and copies that ran when the page was loaded again. */
import { show } from "./activities.svelte";
import { Failure } from "./api";
import { counter, each, reason } from "./bulk";
import { shownName } from "./entry";
import { t } from "./i18n.svelte";
import { awaited, follow, type Awaited } from "./job";
import { toast } from "./toasts.svelte";
import { folderChanged } from "./upload/changes";

/** Waits for all jobs that this tab waited for before; one card for each action and folder. */
export async function resumeJobs(): Promise<void> {
  const actions = new Map<string, Awaited[]>();
  for (const job of awaited()) {
    const action = `${job.action} ${job.to}`;
    actions.set(action, [...(actions.get(action) ?? []), job]);
  }
  await Promise.all([...actions.values()].map(waitFor));
}

/** Waits for jobs of one action into one folder. */
async function waitFor(jobs: readonly Awaited[]): Promise<void> {
  const { action, to } = jobs[0]!;
  const copies = action === "copy";
  const name = shownName(to) || t.files.home;
  const card = show(copies ? t.changes.copying(name) : t.changes.moving(name), jobs.length);
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
  if (done > 0) toast("ok", copies ? t.changes.copied(done, name) : t.changes.moved(done, name));
  if (failed.length > 0) {
    const words = copies ? t.changes.notCopied : t.changes.notMoved;
    toast("error", words(failed.length, reason(failed[0])));
  }
}
