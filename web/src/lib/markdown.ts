/**
 * Markdown as HTML that is safe in our page. HTML in it is shown as text. Links are http, https,
 * mailto or files of this site. Images come from this site only, because another site would learn
 * who reads the file.
 */
import DOMPurify from "dompurify";
import { Marked, type Tokens } from "marked";
import { parentOf } from "./entry";
import { address } from "./router.svelte";

const tags =
  "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr img li ol p pre strong table tbody td th thead tr ul".split(" ");
const attributes = "align alt class href rel src start target title".split(" ");

/** A picture in the file at `path`: its path, if it is a file of the same tree. */
function pictureAt(href: string, path: string): string | undefined {
  const encoded = fileAt(href, path);
  try {
    return encoded?.split("/").map(decodeURIComponent).join("/");
  } catch {
    return undefined; // no UTF-8
  }
}

/** The paths of the pictures in a Markdown text from the file at `path`, each once. */
export function picturesIn(text: string, path: string): string[] {
  const found = new Set<string>();
  const marked = new Marked({ gfm: true, async: false });
  marked.walkTokens(marked.lexer(text), (token) => {
    if (token.type !== "image") return;
    const at = pictureAt((token as Tokens.Image).href, path);
    if (at !== undefined) found.add(at);
  });
  return [...found];
}

/**
 * HTML of a Markdown text from the file at `path`. Its files are linked by their paths, or, where
 * these are no addresses, not at all: `pictures` has the addresses of its pictures then, by path.
 */
export function markdown(text: string, path: string, pictures?: ReadonlyMap<string, string>): string {
  const from = pictures ? undefined : path;
  const marked = new Marked({
    gfm: true,
    async: false,
    renderer: {
      html: ({ text, block }: Tokens.HTML | Tokens.Tag) => (block ? `<p>${escape(text)}</p>` : escape(text)),
      checkbox: ({ checked }: Tokens.Checkbox) => (checked ? "☑ " : "☐ "),
      link({ href, title, tokens }: Tokens.Link) {
        const to = target(href, from);
        const words = this.parser.parseInline(tokens);
        if (!to) return words;
        const hint = title ? ` title="${escape(title)}"` : "";
        return `<a href="${escape(to)}"${hint} target="_blank" rel="noopener noreferrer">${words}</a>`;
      },
      image({ href, text }: Tokens.Image) {
        const to = pictures?.get(pictureAt(href, path) ?? "") ?? target(href, from);
        if (!to) return escape(text);
        if (to.startsWith("/")) return `<img src="${escape(to)}" alt="${escape(text)}">`;
        return `<a href="${escape(to)}" target="_blank" rel="noopener noreferrer">${escape(text || to)}</a>`;
      },
    },
  });
  return DOMPurify.sanitize(marked.parse(text) as string, {
    ALLOWED_TAGS: tags,
    ALLOWED_ATTR: attributes,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    // Only href and src are checked as addresses.
    ADD_URI_SAFE_ATTR: attributes.filter((name) => name !== "href" && name !== "src"),
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|\/(?![/\\]))/i,
  });
}

/**
 * The target of a link in the file at `path`: another site, or a file of this site by its path if
 * this file has one. Undefined for everything else.
 */
export function target(href: string, path: string | undefined): string | undefined {
  const to = resolve(href, path ?? "/");
  if (to === undefined) return undefined;
  if (to.host === here) return path === undefined || reserved.test(to.pathname) ? undefined : to.pathname;
  return /^(https?|mailto):$/.test(to.protocol) ? to.href : undefined;
}

/** The encoded path of a link to a file of the same tree, in the file at `path`. */
function fileAt(href: string, path: string): string | undefined {
  const to = resolve(href, path);
  return to?.host === here ? to.pathname : undefined;
}

const here = "files.invalid";

function resolve(href: string, path: string): URL | undefined {
  if (href.startsWith("#")) return undefined; // headings have no ids here
  try {
    return new URL(href, new URL(address("", parentOf(path)) + "/", `http://${here}`));
  } catch {
    return undefined;
  }
}

/** Paths that are no files: a request to them could have side effects. */
const reserved = /^\/(api|webdav|share|app)(\/|$)/i;

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => entities[sign]!);
}
