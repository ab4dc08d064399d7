/** A storage, as its list shows it. */
import type { Schemas } from "../../../lib/api";

export type Provider = Schemas["ApiProviderReply"];

/** Where a storage keeps its objects: a directory, or host, bucket and prefix. */
export function placeOf({ type, endpoint, bucket, pathPrefix }: Provider): string {
  const host = type === "store_a" ? "" : endpoint.replace(/^https:\/\//, "");
  return [host, bucket, pathPrefix].filter(Boolean).join("/");
}
