/** Jobs on the server: copies, and moves between storage providers. */
import { client, Failure, sleep, take, type Schemas } from "./api";

/** A job that this tab waits for. A tab that loads the page again goes on waiting. */
export interface Awaited {
  jobId: string;
  action: "move" | "copy";
  /** The folder that receives the entry. */
  to: string;
}

const key = "larder.jobs";

/** The jobs that this tab waited for when the page was left. */
export function awaited(): Awaited[] {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "[]") as Awaited[];
  } catch {
    return []; // the tab has no storage
  }
}

function setAwaited(jobs: readonly Awaited[]): void {
  try {
    if (jobs.length > 0) sessionStorage.setItem(key, JSON.stringify(jobs));
    else sessionStorage.removeItem(key);
  } catch {
    // without storage, only the bell tells of their end
  }
}

/** Notes jobs that this tab waits for, until follow has seen their end. */
export function addAwaited(jobs: readonly Awaited[]): void {
  setAwaited([...awaited(), ...jobs]);
}

/**
 * Waits for a job to end. Polls after 0.5 s, then at growing intervals up to 5 s. Throws Failure
 * when the job has failed.
 */
export async function follow(jobId: string, progress: (percent: number) => void, signal?: AbortSignal): Promise<void> {
  for (let pause = 500; ; pause = Math.min(pause * 1.5, 5000)) {
    const job = await read(jobId, signal);
    progress(job.progress);
    if (job.status === "completed" || job.status === "failed") removeAwaited(jobId);
    if (job.status === "completed") return;
    if (job.status === "failed") throw new Failure("OPERATION_FAILED", job.errorMessage ?? "");
    await sleep(pause, signal);
  }
}

async function read(jobId: string, signal?: AbortSignal): Promise<Schemas["ApiJobReply"]> {
  try {
    return (await take(client.GET("/api/files/jobs/{jobId}", { params: { path: { jobId } }, signal }))).job;
  } catch (cause) {
    if (cause instanceof Failure && cause.code === "NOT_FOUND") removeAwaited(jobId); // of another account
    throw cause;
  }
}

function removeAwaited(jobId: string): void {
  setAwaited(awaited().filter((job) => job.jobId !== jobId));
}
