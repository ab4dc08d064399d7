/** Files and folders, as listings return them. */
import { Failure, type Schemas } from "./api";
import { locale, t } from "./i18n.svelte";

export type Entry = Omit<Schemas["ApiEntryReply"], "createdAt" | "updatedAt"> & {
  /** ms; null where the source does not say it. */
  createdAt: number | null;
  updatedAt: number | null;
};
export type Permission = "read" | "write" | "update" | "delete" | "share" | "download";

/** The path of an entry itself; its `path` is that of its folder. */
export function pathOf(entry: Pick<Entry, "path" | "name">): string {
  return entry.path === "/" ? `/${entry.name}` : `${entry.path}/${entry.name}`;
}

/** The last part of a path, "" for the root. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * The name of a folder as the user reads it, "" for the root. The folders that the first start
 * makes have names in the language of the reader.
 */
export function shownName(path: string): string {
  return t.files.builtIn[path] ?? nameOf(path);
}

/** The label of an entry of the account's tree: its title, or else its name for the user. */
export function labelOf(entry: Entry): string {
  return entry.customTitle || (entry.type === "folder" ? shownName(pathOf(entry)) : entry.name);
}

/** The folder of a path; the root is its own folder. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** The folders below a top folder down to a path, with their names. */
export function foldersTo(path: string, top = "/"): { path: string; name: string }[] {
  const found: { path: string; name: string }[] = [];
  for (let at = path; at !== top && at !== "/"; at = parentOf(at)) found.unshift({ path: at, name: nameOf(at) });
  return found;
}

export function may(entry: Pick<Entry, "permissions">, permission: Permission): boolean {
  return entry.permissions.includes(permission);
}

/** Reports whether the server may have a thumbnail of the entry. */
export function isImage(entry: Pick<Entry, "type" | "mimeType">): boolean {
  return entry.type === "file" && (entry.mimeType ?? "").startsWith("image/");
}

/**
 * Codes with many possible reasons. Only the server's message, which is in English, names the
 * reason.
 */
const various = ["VALIDATION_ERROR", "OPERATION_FAILED"];

/**
 * The message for a failure. `words` replaces the messages of codes for which the caller knows
 * more.
 */
export function explain(cause: unknown, words: Record<string, string> = {}): string {
  if (!(cause instanceof Failure)) return String(cause);
  const { code, message, requestId } = cause;
  if (message && various.includes(code) && locale() === "en-US") return message;
  const text = words[code] ?? t.failures[code] ?? message;
  return code === "INTERNAL_ERROR" && requestId ? `${text} ${t.gone.request(requestId)}` : text;
}

/** The message for a failure to set a name, which needs a permission. */
export function explainName(cause: unknown, needs: "write" | "update"): string {
  return explain(cause, { VALIDATION_ERROR: t.files.badName, FORBIDDEN: t.common.lacks[needs] });
}
