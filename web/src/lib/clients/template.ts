/** Upload folders, which may contain placeholders. */

export const placeholders = [
  "{year}",
  "{month}",
  "{day}",
  "{hour}",
  "{minute}",
  "{second}",
  "{timestamp}",
  "{uuid}",
  "{random}",
  "{username}",
  "{filename}",
  "{ext}",
] as const;

const braces = /\{[^{}/]*\}/g;

/** The first unknown placeholder, "" when all are known. */
export function unknownPlaceholder(path: string): string {
  return path.match(braces)?.find((one) => !(placeholders as readonly string[]).includes(one)) ?? "";
}

/** Reports whether the service accepts a path as an upload folder, placeholders not considered. */
export function isUploadPath(path: string): boolean {
  return path.trim() !== "" && !path.includes("..") && !path.includes("~");
}

/**
 * The upload root: the part before the first segment with a placeholder. A key changes nothing
 * outside of it.
 */
export function uploadRoot(path: string): string {
  const segments = path.split("/").filter(Boolean);
  const first = segments.findIndex((segment) => segment.search(braces) >= 0);
  return `/${(first < 0 ? segments : segments.slice(0, first)).join("/")}`;
}

/**
 * The path that a file of this name would get. Times are UTC, as in the service; random parts are
 * examples.
 */
export function example(path: string, file: string, username: string, now: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  const dot = file.lastIndexOf(".");
  const values: Record<string, string> = {
    "{year}": String(now.getUTCFullYear()),
    "{month}": two(now.getUTCMonth() + 1),
    "{day}": two(now.getUTCDate()),
    "{hour}": two(now.getUTCHours()),
    "{minute}": two(now.getUTCMinutes()),
    "{second}": two(now.getUTCSeconds()),
    "{timestamp}": String(now.getTime()),
    "{uuid}": "0b9d2c4e-6f1a-4c38-9a57-1e2f3a4b5c6d",
    "{random}": "k3Xq9TzL",
    "{username}": username,
    "{filename}": dot > 0 ? file.slice(0, dot) : file,
    "{ext}": dot > 0 ? file.slice(dot + 1) : "",
  };
  const folder = path.replace(braces, (one) => values[one] ?? one);
  return `/${[...folder.split("/").filter(Boolean), file].join("/")}`;
}
