/** Addresses of the log with filters. */
import type { Range } from "./query";

/** The length of a search in characters that the server takes. */
const longest = 255;

/** The address of the log with the entries of a path, from a time until now. */
export function entriesAt(path: string, range: Range): string {
  return `/app/admin/logs?${new URLSearchParams({ search: [...path].slice(-longest).join(""), range })}`;
}
