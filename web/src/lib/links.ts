/** Links to files in the formats of documents, and the format that was used last. */
import { client, Failure, take, type Schemas } from "./api";
import { parts } from "./bulk";
import { copy } from "./clipboard";
import type { Entry } from "./entry";
import { t } from "./i18n.svelte";

export const formats = ["direct", "html", "markdown", "bbcode"] as const;
export type Format = (typeof formats)[number];
export type Links = Schemas["ApiLinkFormats"];
export type LinkItem = Schemas["ApiCopyLinksItem"];

const key = "larder.links";

/** The format that was copied last. */
export function lastFormat(): Format {
  try {
    const stored = localStorage.getItem(key) as Format;
    if (formats.includes(stored)) return stored;
  } catch {
    // without storage, the default applies
  }
  return "direct";
}

export function rememberFormat(format: Format): void {
  try {
    localStorage.setItem(key, format);
  } catch {
    // without storage, the format is not remembered
  }
}

/**
 * The links of entries, in the order of the entries, each with an error where it has no links.
 * Throws Failure.
 */
export async function linksOf(
  entries: readonly Pick<Entry, "id">[],
  signedFor: number | undefined, // seconds
  signal?: AbortSignal,
): Promise<LinkItem[]> {
  const out: LinkItem[] = [];
  for (const part of parts(entries)) {
    const body = { ids: part.map(({ id }) => id), signed: signedFor !== undefined, expiresIn: signedFor ?? null };
    const { items } = await take(client.POST("/api/files/copy-links", { body, ...(signal && { signal }) }));
    out.push(...items);
  }
  return out;
}

/**
 * Copies the links of entries in the format that was used last. Resolves to the message for the
 * user. Throws Failure.
 */
export async function copyLinksOf(entries: readonly Entry[]): Promise<{ kind: "ok" | "error"; text: string }> {
  const items = await linksOf(entries, undefined);
  const lines = items.flatMap(({ formats }) => (formats ? [formats[lastFormat()]] : []));
  if (lines.length === 0) throw new Failure(items[0]?.code ?? "NOT_FOUND", items[0]?.error ?? "");
  if (!(await copy(lines.join("\n")))) return { kind: "error", text: t.common.copyFailed };
  return { kind: "ok", text: t.files.linksCopied(lines.length, items.length - lines.length) };
}

/**
 * The formats of a permanent link, as the server writes those of other links. The API returns only
 * the address of a permanent link. The address holds letters, digits and `:/.-` only.
 */
export function written(url: string, { name, mimeType }: Pick<Entry, "name" | "mimeType">): Links {
  const markdown = name.replace(/[\\`*_{}[\]()<>#+!|~&]/g, "\\$&");
  if (mimeType?.startsWith("image/")) {
    return {
      direct: url,
      html: `<img src="${html(url)}" alt="${html(name)}">`,
      markdown: `![${markdown}](${url})`,
      bbcode: `[img]${url}[/img]`,
    };
  }
  return {
    direct: url,
    html: `<a href="${html(url)}">${html(name)}</a>`,
    markdown: `[${markdown}](${url})`,
    bbcode: `[url=${url}]${name.replaceAll("[", "［").replaceAll("]", "］")}[/url]`,
  };
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" };

function html(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => entities[sign]!);
}
