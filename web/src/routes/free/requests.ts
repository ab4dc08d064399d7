/** The requests of free mode for objects. All throw Failure. */
import { client, failure, Failure, take, type Schemas } from "../../lib/api";
import { request } from "../../lib/upload/put";
import type { FreeSession } from "./session.svelte";
import type { Upload } from "./uploads.svelte";

export const downloadAddress = (key: string) => `/api/free-mode/download?key=${encodeURIComponent(key)}`;

/** A page of a folder's listing, the first without a cursor. */
export async function list(free: FreeSession, path: string, cursor?: string): Promise<Schemas["ApiFreeListReply"]> {
  const query = { path, ...(cursor !== undefined && { cursor }) };
  const page = await free.read(() => take(client.GET("/api/free-mode/files", { params: { query } })));
  await free.meet(page.mount.id);
  return page;
}

export function remove(free: FreeSession, key: string): Promise<unknown> {
  return free.write((headers) => take(client.DELETE("/api/free-mode/object", { params: { query: { key } }, headers })));
}

/** Asks for an object without its content. Resolves to the response. */
async function head(key: string, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch(downloadAddress(key), { method: "HEAD", ...(signal && { signal }) });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new Failure("NETWORK", String(cause));
  }
}

/** Statuses without a body, by the code that they have with one. */
const codes: Record<number, string> = {
  400: "VALIDATION_ERROR",
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  429: "RATE_LIMIT_EXCEEDED",
};

/** Fails if an object cannot be downloaded. */
export function check(free: FreeSession, key: string, signal?: AbortSignal): Promise<void> {
  return free.read(async () => {
    const answer = await head(key, signal);
    if (answer.ok) return;
    const code = codes[answer.status] ?? "INTERNAL_ERROR";
    throw failure({ error: { code } }, answer.status, answer.headers);
  });
}

/** See Requests. A key that only allows writing may not ask for objects. */
export async function exists(free: FreeSession, key: string, signal: AbortSignal): Promise<boolean | undefined> {
  try {
    await check(free, key, signal);
    return true;
  } catch (cause) {
    if (cause instanceof Failure && cause.code === "NOT_FOUND") return false;
    if (cause instanceof Failure && cause.code === "FORBIDDEN" && free.stage === "open") return undefined;
    throw cause;
  }
}

export function send(
  free: FreeSession,
  { file, folder, name, stopped }: Upload,
  progress: (bytes: number) => void,
): Promise<Schemas["ApiFreeUploadReply"]> {
  return free.write(async (token) => {
    const headers = {
      Accept: "application/json",
      "Content-Type": file.type || "application/octet-stream",
      "X-File-Name": encodeURIComponent(name),
      ...token,
    };
    const url = `/api/free-mode/upload?path=${encodeURIComponent(folder)}`;
    const {
      status,
      body,
      headers: told,
    } = await request(url, file, {
      method: "POST",
      headers,
      progress,
      signal: stopped.signal,
    });
    if (status !== 201) throw failure(body, status, told);
    return (body as { data: Schemas["ApiFreeUploadReply"] }).data;
  });
}
