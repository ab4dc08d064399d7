/** The progress of the first run, which the site keeps for all administrators. */
import { client, take } from "../../lib/api";
import { session } from "../../lib/session.svelte";

type Progress = "checklist" | "done";

/** Stores the progress and shows it. Throws Failure. */
export async function changeSetup(setup: Progress): Promise<void> {
  await take(client.PATCH("/api/admin/settings", { body: { setup } }));
  if (session.me) session.me = { ...session.me, setup };
}
