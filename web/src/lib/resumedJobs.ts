/** Shows the progress of the moves and copies that ran when the page was loaded again. */
import { show } from "./activities.svelte";
import { Failure } from "./api";
import { each, reason } from "./bulk";
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
  const parts = new Map<string, number>();
  const failed: unknown[] = [];
  let done = 0;
  await each(jobs, async ({ jobId }) => {
    try {
      await follow(jobId, (percent) => {
        parts.set(jobId, percent / 100);
        card.progress([...parts.values()].reduce((sum, part) => sum + part, 0));
      });
      done++;
    } catch (cause) {
      // the jobs of another account, and those that ended long ago
      if (!(cause instanceof Failure && cause.code === "NOT_FOUND")) failed.push(cause);
    }
  });
  card.end();
  folderChanged(to);
  if (done > 0) toast("ok", copies ? t.changes.copied(done, name) : t.changes.moved(done, name));
  if (failed.length > 0) {
    const words = copies ? t.changes.notCopied : t.changes.notMoved;
    toast("error", words(failed.length, reason(failed[0])));
  }
}
