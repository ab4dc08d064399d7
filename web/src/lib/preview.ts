/** How files are shown: what each is to the viewer, and where its bytes and pictures come from. */
import { client, failure, take } from "./api";
import { pathOf, type Entry } from "./entry";
import { address } from "./router.svelte";
import { session } from "./session.svelte";

export type Kind = "image" | "video" | "audio" | "pdf" | "markdown" | "code" | "text" | "none";

/** More than this is not fetched to be shown as text. */
export const mostText = 2 << 20; // bytes
/** Images up to this are shown themselves where no smaller picture of them is to be had. */
export const mostOriginal = 12 << 20; // bytes

/** The grammar that a file is coloured by, by what its name ends in. They are those of highlight.ts. */
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

/** What a name ends in, in lower case; the whole of a name without a dot. */
export function extension(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1).toLowerCase();
}

export function grammar(name: string): string | undefined {
  return grammars[extension(name)];
}

/**
 * What the viewer shows a file as. The name decides what is text, since types of text are many and seldom right; markup and SVG are text, never pages.
 */
export function kindOf(entry: Pick<Entry, "type" | "name" | "mimeType">): Kind {
  if (entry.type !== "file") return "none";
  const mime = (entry.mimeType ?? "").split(";")[0]!.trim().toLowerCase();
  const end = extension(entry.name);
  if (mime === "image/svg+xml") return "code";
  if (mime.startsWith("image/")) return "image";
  // .ts is a transport stream to some tables of types, and a program to everybody who keeps one here.
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

/** Where the bytes of a file are served to whoever may download it. */
export function bytesOf(entry: Pick<Entry, "path" | "name">): string {
  return address("", pathOf(entry));
}

export type PictureSize = 160 | 320 | 640 | 1280 | 2048;

/** A picture of an image whose longest edge is at most so many pixels. The server answers 404 where it can make none. */
export function picture(entry: Pick<Entry, "id" | "updatedAt">, longest: PictureSize): string {
  return `/api/files/${encodeURIComponent(entry.id)}/thumbnail?size=${longest}`;
}

/** Whether an image is shown itself from the start: pictures of what moves would stand still. */
export function moves(entry: Pick<Entry, "mimeType">): boolean {
  return entry.mimeType === "image/gif" || entry.mimeType === "image/apng";
}

/** Why bytes cannot be had: the code of the failure, "" when they can. */
export async function refusal(url: string): Promise<string> {
  try {
    const answer = await fetch(url, { headers: { Accept: "application/json", Range: "bytes=0-0" } });
    if (answer.ok || answer.status === 416) return "";
    return failure(await answer.json().catch(() => undefined), answer.status).code;
  } catch {
    return "NETWORK";
  }
}

/** Has the browser save a file. Throws Failure. */
export async function save(entry: Entry, from?: string): Promise<void> {
  const link = document.createElement("a");
  if (from) link.href = from;
  else if (!session.me) link.href = bytesOf(entry);
  else link.href = (await take(client.GET("/api/files/{id}/download", { params: { path: { id: entry.id } } }))).url;
  link.download = entry.name;
  link.rel = "noopener";
  link.click();
}
