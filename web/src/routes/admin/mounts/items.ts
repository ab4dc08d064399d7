import { client, take } from "../../../lib/api";

/** The number of items in the folder at a path; 0 when there is none, or it can't be listed. */
export async function itemsAt(path: string): Promise<number> {
  try {
    const query = { path, limit: 1 };
    return (await take(client.GET("/api/files", { params: { query } }))).pagination.total;
  } catch {
    return 0;
  }
}
