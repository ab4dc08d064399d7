/** Makes links to entries and writes them. The first command that copies links loads this file. */
import { client, Failure, take, type Schemas } from "./api";
import { explain, type Entry } from "./entry";
import { t } from "./i18n.svelte";
import { obstacle, type Choice, type Style, type Width } from "./links";
import { parts } from "./parts";

export type Links = Schemas["ApiLinkFormats"];
export type LinkItem = Schemas["ApiCopyLinksItem"];

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

/** The addresses of permanent links, or the reasons why there are none, by the ids of entries. */
export interface Permanent {
  urls: Map<string, string>;
  obstacles: Map<string, string>;
}

/** Makes the permanent links of entries, or finds the existing ones. Throws Failure. */
export async function permanentLinks(entries: readonly Entry[]): Promise<Permanent> {
  const out: Permanent = { urls: new Map(), obstacles: new Map() };
  const able = entries.filter((entry) => {
    const what = obstacle(entry, "permanent");
    if (what) out.obstacles.set(entry.id, what);
    return !what;
  });
  for (const part of parts(able)) {
    const { items } = await take(client.POST("/api/files/links", { body: { ids: part.map((entry) => entry.id) } }));
    for (const { id, link, error } of items) {
      if (link?.works) out.urls.set(id, link.url);
      else out.obstacles.set(id, error ? refusal(error) : t.links.obstacles.closed);
    }
  }
  return out;
}

function refusal({ code, message }: { code: string; message: string }): string {
  const { obstacles } = t.links;
  if (code === "PASSWORD_REQUIRED") return obstacles.password;
  if (code === "FORBIDDEN") return obstacles.share;
  return explain(new Failure(code, message));
}

/** Links as they are copied. */
export interface Made {
  lines: string[];
  /** How many of the lines are of the chosen kind. */
  asChosen: number;
  /** Why other lines are addresses by path, "" if there are none. */
  obstacle: string;
  /** Entries without any link. */
  missing: number;
  /** When signed links expire (ms). */
  until: number;
}

/**
 * Makes the links of entries. An entry that can't have a link of the chosen kind gets the address
 * of its path. Throws Failure, also if no entry has a link.
 */
export async function makeLinks(entries: readonly Entry[], choice: Choice): Promise<Made> {
  const texts = new Map<string, string>();
  let reason = "";
  let until = 0;
  if (choice.kind === "permanent") {
    const { urls, obstacles } = await permanentLinks(entries);
    const whole = await withoutSizes(entries, urls, choice.width);
    for (const entry of entries) {
      const url = urls.get(entry.id);
      const style = { ...choice, width: whole.has(entry.id) ? 0 : choice.width };
      if (url) texts.set(entry.id, written(url, entry, style)[choice.format]);
      else reason ||= obstacles.get(entry.id) ?? "";
    }
  } else if (choice.kind === "signed") {
    const able = entries.filter((entry) => {
      const what = obstacle(entry, "signed");
      reason ||= what;
      return !what;
    });
    until = Date.now() + choice.lifetime * 1000;
    for (const item of await linksOf(able, choice.lifetime)) {
      if (item.formats && item.accessMode === "signed" && !item.needsPassword)
        texts.set(item.id, item.formats[choice.format]);
      else reason ||= item.code ? refusal({ code: item.code, message: item.error ?? "" }) : t.links.obstacles.password;
    }
  }
  const asChosen = choice.kind === "path" ? entries.length : texts.size;
  const rest = await linksOf(
    entries.filter(({ id }) => !texts.has(id)),
    undefined,
  );
  for (const { id, formats } of rest) if (formats) texts.set(id, formats[choice.format]);
  if (texts.size === 0) throw new Failure(rest[0]?.code ?? "NOT_FOUND", rest[0]?.error ?? "");
  const lines = entries.flatMap(({ id }) => texts.get(id) ?? []);
  return {
    lines,
    asChosen: Math.min(asChosen, lines.length),
    obstacle: reason,
    missing: entries.length - lines.length,
    until,
  };
}

/** The types of which every server makes thumbnails. */
const sized = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Reports whether a server may have smaller pictures of an entry. */
export const hasSizes = ({ mimeType }: Pick<Entry, "mimeType">) => sized.includes(mimeType ?? "");

/** The address of a picture in a width, by its permanent link. */
export function sizedUrl(url: string, width: Width): string {
  return width === 0 ? url : `${url}/thumbnail?size=${width}`;
}

/** How long the server may take to say which pictures have no thumbnail, in ms. */
const patience = 3_000;
/** The number of pictures about which the server is asked at a time. */
const together = 6;

/**
 * The ids of the pictures that have no thumbnail. The server is asked about a picture whose width
 * is unknown: it cannot read the picture, or it has not yet, soon after the upload. Without an
 * answer in time, a picture counts as one with a thumbnail.
 */
async function withoutSizes(
  entries: readonly Entry[],
  urls: ReadonlyMap<string, string>,
  width: Width,
): Promise<Set<string>> {
  const out = new Set<string>();
  if (width === 0) return out;
  const signal = AbortSignal.timeout(patience);
  const unknown = entries.filter((entry) => !entry.width && hasSizes(entry) && urls.has(entry.id));
  for (const part of parts(unknown, together))
    await Promise.all(
      part.map(async ({ id }) => {
        const address = sizedUrl(new URL(urls.get(id)!).pathname, width);
        const answer = await fetch(address, { method: "HEAD", signal }).catch(() => undefined);
        if (answer?.status === 404) out.add(id);
      }),
    );
  return out;
}

/**
 * The formats of a permanent link, as the server writes those of other links. The API returns only
 * the address of a permanent link. The address holds letters, digits and `:/.-?=` only.
 */
export function written(
  url: string,
  { name, mimeType }: Pick<Entry, "name" | "mimeType">,
  { width, linked }: Pick<Style, "width" | "linked">,
): Links {
  const markdown = name.replace(/[\\`*_{}[\]()<>#+!|~&]/g, "\\$&");
  if (!mimeType?.startsWith("image/")) {
    return {
      direct: url,
      html: `<a href="${html(url)}">${html(name)}</a>`,
      markdown: `[${markdown}](${url})`,
      bbcode: `[url=${url}]${name.replaceAll("[", "［").replaceAll("]", "］")}[/url]`,
    };
  }
  const shown = hasSizes({ mimeType }) ? sizedUrl(url, width) : url;
  const image = {
    direct: shown,
    html: `<img src="${html(shown)}" alt="${html(name)}">`,
    markdown: `![${markdown}](${shown})`,
    bbcode: `[img]${shown}[/img]`,
  };
  if (!linked) return image;
  return {
    direct: shown,
    html: `<a href="${html(url)}">${image.html}</a>`,
    markdown: `[${image.markdown}](${url})`,
    bbcode: `[url=${url}]${image.bbcode}[/url]`,
  };
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" };

function html(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => entities[sign]!);
}
