/** How the viewer shows files: the kind of each, and whether its bytes can be had. */
import { accountHeadersFor, checkAccount, failure } from "./api";
import type { Entry } from "./entry";
import type { Source } from "./source/source";

export type Kind = "image" | "video" | "audio" | "pdf" | "markdown" | "code" | "text" | "none";

/** Larger files are not shown as text. */
export const mostText = 2 << 20; // bytes
/** Larger drawings (SVG) are shown as source text: the browser draws them by itself. */
export const mostDrawing = 1 << 20; // bytes
/** Larger drawings have no thumbnail. */
export const mostDrawingTile = 256 << 10; // bytes
/** Larger images are not shown themselves when the server has no thumbnail of them. */
export const mostOriginal = 12 << 20; // bytes

/** Grammars by extension. All of them are in highlight.ts. */
const grammars: Record<string, string> = {
  bash: "bash",
  c: "cpp",
  cc: "cpp",
  cjs: "javascript",
  cpp: "cpp",
  css: "css",
  go: "go",
  h: "cpp",
  hpp: "cpp",
  htm: "xml",
  html: "xml",
  java: "java",
  js: "javascript",
  json: "json",
  jsonc: "json",
  jsx: "javascript",
  mjs: "javascript",
  py: "python",
  rs: "rust",
  sh: "bash",
  svelte: "xml",
  svg: "xml",
  ts: "typescript",
  tsx: "typescript",
  vue: "xml",
  webmanifest: "json",
  xhtml: "xml",
  xml: "xml",
  yaml: "yaml",
  yml: "yaml",
  zsh: "bash",
};

const plainTexts = new Set(
  (
    "bat bib cfg conf csv diff env gitignore ics ini kt log lock lrc lua makefile nfo patch php pl properties ps1 r rb reg rst sql srt " +
    "swift tex text toml tsv txt vtt dockerfile readme license"
  ).split(" "),
);

/** The part of a name after the last dot, in lower case; the whole name without a dot. */
export function extension(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1).toLowerCase();
}

export function grammar(name: string): string | undefined {
  return grammars[extension(name)];
}

/**
 * The kind that the viewer shows a file as. The name decides whether it is text, because MIME types
 * of text are many and often wrong. Markup is shown as source text, never as pages. A drawing is
 * shown by an `img` element, which runs no script.
 */
export function kindOf(entry: Pick<Entry, "type" | "name" | "mimeType" | "size">): Kind {
  if (entry.type !== "file") return "none";
  const mime = (entry.mimeType ?? "").split(";")[0]!.trim().toLowerCase();
  const end = extension(entry.name);
  if (mime === "image/svg+xml") return entry.size <= mostDrawing ? "image" : "code";
  if (mime.startsWith("image/")) return "image";
  // Some tables of types call .ts an MPEG transport stream; here it is more likely TypeScript.
  if (mime.startsWith("video/") && !(end === "ts" && mime === "video/mp2t")) return "video";
  if (mime.startsWith("audio/")) return "audio";
  if (mime === "application/pdf") return "pdf";
  if (end === "md" || end === "markdown" || mime === "text/markdown") return "markdown";
  if (grammars[end]) return "code";
  if (plainTexts.has(end) || mime.startsWith("text/")) return "text";
  if (mime === "application/json" || mime.endsWith("+json")) return "code";
  if (mime === "application/xml" || mime.endsWith("+xml") || mime === "application/javascript") return "code";
  return "none";
}

/** Reports whether an image is a drawing, which has no pixels and no thumbnail. */
export function isDrawing(entry: Pick<Entry, "mimeType">): boolean {
  return (entry.mimeType ?? "").split(";")[0]!.trim().toLowerCase() === "image/svg+xml";
}

/**
 * Reports whether an image may be animated. It is then shown itself, because thumbnails are not
 * animated.
 */
export function moves(entry: Pick<Entry, "mimeType">): boolean {
  return entry.mimeType === "image/gif" || entry.mimeType === "image/apng";
}

/** Reports whether an image may have transparent parts, below which the viewer shows a pattern. */
export function mayBeTransparent(entry: Pick<Entry, "mimeType">): boolean {
  return entry.mimeType !== "image/jpeg";
}

/**
 * Requests the bytes of a file for the account of the page. The header of the account is for the
 * service alone: a store to which the service redirects may refuse requests with it, so the page
 * then requests the address once more, without the header.
 */
export async function requestBytes(
  address: string,
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<Response> {
  const named = accountHeadersFor(address);
  const stop = signal && { signal };
  if (Object.keys(named).length > 0) {
    const answer = await fetch(address, { headers: { ...headers, ...named }, redirect: "manual", ...stop });
    await checkAccount(answer.headers);
    if (answer.type !== "opaqueredirect") return answer;
  }
  return fetch(address, { headers, ...stop });
}

/** The code of the failure when bytes cannot be fetched, "" when they can. */
export async function refusal(url: string): Promise<string> {
  try {
    const answer = await requestBytes(url, { Accept: "application/json", Range: "bytes=0-0" });
    if (answer.ok || answer.status === 416) return "";
    return failure(await answer.json().catch(() => undefined), answer.status).code;
  } catch {
    return "NETWORK";
  }
}

/**
 * Makes the browser save a file: from an address, or else as its source offers it. Throws Failure.
 */
export async function save(source: Source, entry: Entry, from?: string): Promise<void> {
  const link = document.createElement("a");
  link.href = from ?? (await source.download(entry));
  link.download = entry.name;
  link.rel = "noopener";
  link.click();
}
