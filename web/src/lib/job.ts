/** Jobs on the server: copies, rewinds, and moves between storage providers. */
import { actsFor, client, Failure, sleep, take, type Schemas } from "./api";

/** A job that this tab waits for. A tab that loads the page again goes on waiting. */
export interface Awaited {
  jobId: string;
  action: "move" | "copy" | "rewind";
  /** The folder that receives the entry, or that is rewound. */
  to: string;
  /** The time of a rewind, in ms. */
  at?: number;
}

/** The tab keeps the jobs of each account that was signed in; they name folders. */
type Stored = Awaited & { account: string };

const key = "larder.jobs";

function stored(): Stored[] {
  try {
    const jobs = JSON.parse(sessionStorage.getItem(key) ?? "[]") as unknown;
    return Array.isArray(jobs) ? (jobs as Stored[]) : [];
  } catch {
    return []; // the tab has no storage, or invalid content
  }
}

function store(jobs: readonly Stored[]): void {
  try {
    if (jobs.length > 0) sessionStorage.setItem(key, JSON.stringify(jobs));
    else sessionStorage.removeItem(key);
  } catch {
    // without storage, only the bell tells of their end
  }
}

/** The jobs of the account that this tab waited for when the page was left. */
export function awaited(): Awaited[] {
  return stored().filter((job) => job.account === actsFor());
}

/** Notes jobs that this tab waits for, until follow has seen their end. */
export function addAwaited(jobs: readonly Awaited[]): void {
  store([...stored(), ...jobs.map((job) => ({ ...job, account: actsFor() }))]);
}

function removeAwaited(jobId: string): void {
  store(stored().filter((job) => job.jobId !== jobId));
}

/**
 * Waits for a job to end. Polls after 0.5 s, then at growing intervals up to 5 s, also while the
 * server cannot be reached. Throws Failure when the job has failed, or the server does not tell.
 */
export async function follow(jobId: string, progress: (percent: number) => void, signal?: AbortSignal): Promise<void> {
  for (let pause = 500; ; pause = Math.min(pause * 1.5, 5000)) {
    const job = await read(jobId, signal);
    if (job) progress(job.progress);
    if (job?.status === "completed" || job?.status === "failed") removeAwaited(jobId);
    if (job?.status === "completed") return;
    if (job?.status === "failed") throw new Failure("OPERATION_FAILED", job.errorMessage ?? "");
    await sleep(pause, signal);
  }
}

/** The job as it is; undefined while the server cannot be reached, which does not stop the job. */
async function read(jobId: string, signal?: AbortSignal): Promise<Schemas["ApiJobReply"] | undefined> {
  try {
    return (await take(client.GET("/api/files/jobs/{jobId}", { params: { path: { jobId } }, signal }))).job;
  } catch (cause) {
    if (cause instanceof Failure && cause.code === "NETWORK") return undefined;
    if (cause instanceof Failure && cause.code === "NOT_FOUND") removeAwaited(jobId); // it ended long ago
    throw cause;
  }
}
