/** Addresses of the log with filters, and of explanations of its entries. */
import type { LogEntry, Range } from "./query";

/** The length of a search in characters that the server takes. */
const longest = 255;

/** The address of the log with the entries of a path, from a time until now. */
export function entriesAt(path: string, range: Range): string {
  return `/app/admin/logs?${new URLSearchParams({ search: [...path].slice(-longest).join(""), range })}`;
}

/** The permission that an action needs at the path of its entry, for actions that rules judge. */
const needed: Record<string, string> = {
  upload: "write",
  download: "download",
  preview: "read",
  delete: "delete",
  restore: "write",
  rewind: "write",
  move: "delete",
  rename: "update",
  folder: "write",
  share: "share",
  webdav: "read",
};

/** The address of the explanation of a refused entry; "" for other entries. */
export function explanationAddress({ statusCode, action, path, userId, keyId, ip }: LogEntry): string {
  const permission = needed[action];
  if (statusCode !== 403 || !permission || !path) return "";
  const query = new URLSearchParams({ explain: "1", permission, path });
  if (keyId) query.set("key", keyId);
  else if (userId) query.set("user", userId);
  if (ip) query.set("ip", ip);
  return `/app/admin/rules?${query}`;
}
