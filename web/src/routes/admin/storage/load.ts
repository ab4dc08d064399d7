/** The storages and the mounts, which the screens of both need. */
import { client, take } from "../../../lib/api";
import type { Mount } from "../mounts/overlaps";
import type { Provider } from "./provider";

/** Loads both. Throws Failure. */
export async function loadStorage(): Promise<{ providers: Provider[]; mounts: Mount[] }> {
  const [{ providers }, { mounts }] = await Promise.all([
    take(client.GET("/api/admin/storage/providers")),
    take(client.GET("/api/admin/mounts")),
  ]);
  return { providers, mounts };
}
