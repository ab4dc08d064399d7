/** Files and folders, as listings tell of them. */
import { Failure, type Schemas } from "./api";
import { locale, t } from "./i18n.svelte";

export type Entry = Schemas["ApiEntryReply"];
export type Permission = "read" | "write" | "update" | "delete" | "share" | "download";

/** The path of an entry itself; its `path` is that of the folder it is in. */
export function pathOf(entry: Pick<Entry, "path" | "name">): string {
  return entry.path === "/" ? `/${entry.name}` : `${entry.path}/${entry.name}`;
}

/** The last part of a path, "" for the root. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The folder that a path lies in; the root lies in itself. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

export function may(entry: Pick<Entry, "permissions">, permission: Permission): boolean {
  return entry.permissions.includes(permission);
}

/** Whether a picture of it can be asked for. */
export function isImage(entry: Entry): boolean {
  return entry.type === "file" && (entry.mimeType ?? "").startsWith("image/");
}

/** Codes of many reasons: which it is only the server's sentence tells, in the one language that it speaks. */
const various = ["VALIDATION_ERROR", "OPERATION_FAILED"];

/** What a person is told of a failure; `words` are for codes of which more is known where it came up. */
export function explain(cause: unknown, words: Record<string, string> = {}): string {
  if (!(cause instanceof Failure)) return String(cause);
  const { code, message } = cause;
  if (message && various.includes(code) && locale() === "en-US") return message;
  return words[code] ?? t.failures[code] ?? message;
}

/** The same for a name that somebody wanted to give, which needs a permission. */
export function explainName(cause: unknown, needs: "write" | "update"): string {
  return explain(cause, { VALIDATION_ERROR: t.files.badName, FORBIDDEN: t.common.lacks[needs] });
}
