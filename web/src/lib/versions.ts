/** The versions of a file: the contents that it had before they were replaced. */
import { client, take, type Schemas } from "./api";

export type Version = Schemas["ApiVersionReply"];

const at = (id: string, { until }: Version) => ({ params: { path: { id, until: String(until) } } });

/** The versions of a file, newest first. Throws Failure. */
export async function versionsOf(id: string): Promise<readonly Version[]> {
  return (await take(client.GET("/api/files/{id}/versions", { params: { path: { id } } }))).versions;
}

/** An address that downloads a version once. Throws Failure. */
export async function downloadOf(id: string, version: Version): Promise<string> {
  return (await take(client.GET("/api/files/{id}/versions/{until}/download", at(id, version)))).url;
}

/** The path of an address that shows a version for 15 minutes. Throws Failure. */
export async function previewOf(id: string, version: Version): Promise<string> {
  const { path } = at(id, version).params;
  const params = { path, query: { preview: true } };
  return new URL((await take(client.GET("/api/files/{id}/versions/{until}/download", { params }))).url).pathname;
}

/** Makes a version the content of the file. Throws Failure. */
export async function makeCurrent(id: string, version: Version): Promise<void> {
  await take(client.POST("/api/files/{id}/versions/{until}/restore", at(id, version)));
}

/** Deletes a version for good. Throws Failure. */
export async function drop(id: string, version: Version): Promise<void> {
  await take(client.DELETE("/api/files/{id}/versions/{until}", at(id, version)));
}
