/** Tests whether this browser can send bytes to a storage itself, as an upload does. */
import { client, Failure, take } from "../../../lib/api";
import { explain } from "../../../lib/entry";
import { putToStore } from "../../../lib/upload/put";
import { markReachable, markUnreachable } from "../../../lib/upload/stores";

/**
 * `direct`: the bytes went to the storage. Otherwise they go through the server: `server` because
 * it says so, `policy` because the page may not connect there, `refused` because no answer could
 * be read, `unread` because the ETag could not, `status` because the storage refused them.
 */
export type Result =
  | { kind: "direct"; ms: number }
  | { kind: "server" | "policy" | "refused" | "unread" }
  | { kind: "status"; status: number }
  | { kind: "failed"; reason: string };

/** Sends a byte in an upload in parts to a folder of the storage, and drops the upload again. */
export async function testHere(folder: string): Promise<Result> {
  try {
    const { sessionId, uploadMode, parts } = await take(
      client.POST("/api/files/upload-session", {
        body: {
          path: folder,
          fileName: `connection-test-${Date.now()}.txt`,
          fileSize: 1,
          partCount: 2,
          conflict: "rename",
          uploadMode: "auto",
        },
      }),
    );
    try {
      const url = uploadMode === "presigned" ? parts[0]?.url : undefined;
      return url ? await send(url) : { kind: "server" };
    } finally {
      await take(client.DELETE("/api/files/upload/multipart/{sessionId}", { params: { path: { sessionId } } }));
    }
  } catch (cause) {
    return { kind: "failed", reason: explain(cause) };
  }
}

async function send(url: string): Promise<Result> {
  let barred = false;
  const note = ({ blockedURI }: SecurityPolicyViolationEvent) => (barred ||= url.startsWith(blockedURI));
  document.addEventListener("securitypolicyviolation", note);
  const began = performance.now();
  try {
    const tag = await putToStore(url, new Blob(["x"]), { progress: () => {}, signal: AbortSignal.timeout(20_000) });
    if (tag === null) {
      markUnreachable(url);
      return { kind: "unread" };
    }
    markReachable(url);
    return { kind: "direct", ms: Math.round(performance.now() - began) };
  } catch (cause) {
    if (cause instanceof Failure && cause.code === "STORE") return { kind: "status", status: cause.status };
    // the report of a violation comes after the failure of its request
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (!barred) markUnreachable(url);
    return { kind: barred ? "policy" : "refused" };
  } finally {
    document.removeEventListener("securitypolicyviolation", note);
  }
}
