/** Jobs on the server: moves and copies between storage providers. */
import { client, Failure, sleep, take } from "./api";

/**
 * Waits for a job to end. Polls after 0.5 s, then at growing intervals up to 5 s. Throws Failure
 * when the job has failed.
 */
export async function follow(jobId: string, progress: (percent: number) => void, signal?: AbortSignal): Promise<void> {
  for (let pause = 500; ; pause = Math.min(pause * 1.5, 5000)) {
    const { job } = await take(client.GET("/api/files/jobs/{jobId}", { params: { path: { jobId } }, signal }));
    progress(job.progress);
    if (job.status === "completed") return;
    if (job.status === "failed") throw new Failure("OPERATION_FAILED", job.errorMessage ?? "");
    await sleep(pause, signal);
  }
}
