/**
 * The choices about links to entries: who can open them, and how they are written. This browser
 * remembers both, and all commands that copy links use them. `linkTexts.ts` makes the links.
 */
import { isImage, may, type Entry } from "./entry";
import { t } from "./i18n.svelte";
import { session } from "./session.svelte";

export const formats = ["direct", "html", "markdown", "bbcode"] as const;
export type Format = (typeof formats)[number];

/** Who can open a link: anyone for good, anyone for some time, or whoever may open the entry. */
export const kinds = ["permanent", "signed", "path"] as const; // from anyone to the fewest people
export type Kind = (typeof kinds)[number];
export const lifetimes = [3600, 86400, 604800]; // seconds

/** Widths of pictures in pixels, 0 for the original. The server makes thumbnails of these sizes. */
export const widths = [0, 1280, 640] as const;
export type Width = (typeof widths)[number];

export interface Style {
  format: Format;
  /** The size of pictures, for permanent links. */
  width: Width;
  /** A picture in a document leads to the original. */
  linked: boolean;
}

export interface Choice extends Style {
  kind: Kind;
  lifetime: number; // seconds, of signed links
}

/** The choices that this browser remembers. */
interface Remembered extends Omit<Choice, "kind"> {
  /** The kind of links to pictures, undefined until the user has chosen one. */
  pictures: Kind | undefined;
  /** The kind of links to other files. */
  files: Kind | undefined;
}

const key = "larder.links";

export function remembered(): Remembered {
  let stored: Partial<Remembered & Choice> = {};
  try {
    stored = JSON.parse(localStorage.getItem(key) ?? "{}") as typeof stored;
  } catch {
    // without storage, or with invalid content, the defaults apply
  }
  // Earlier versions stored one kind for all files.
  const { kind, pictures = kind, files = kind, lifetime, format, width, linked } = stored;
  return {
    pictures: kinds.find((one) => one === pictures),
    files: kinds.find((one) => one === files),
    lifetime: lifetimes.find((one) => one === lifetime) ?? 86400,
    format: formats.find((one) => one === format) ?? "direct",
    width: widths.find((one) => one === width) ?? 0,
    linked: linked === true,
  };
}

/** Remembers choices. Where a kind is undefined, the next copy asks for it. */
export function remember(change: Partial<Remembered>): void {
  try {
    localStorage.setItem(key, JSON.stringify({ ...remembered(), ...change }));
  } catch {
    // without storage, the choice is not remembered
  }
}

/** The kinds of links that at least one of some entries can have; always "path". */
export function possible(entries: readonly Entry[]): Kind[] {
  return kinds.filter((kind) => entries.some((entry) => !obstacle(entry, kind)));
}

/** The entries of which a visitor can get a link, so that their links can be of several kinds. */
const linkable = (entries: readonly Entry[]) => entries.filter((entry) => !obstacle(entry, "signed"));

/**
 * The kind that the user has chosen for links to such entries, undefined for none. Pictures among
 * other files get no link that more people can open than the user has chosen for either.
 */
export function chosen(entries: readonly Entry[]): Kind | undefined {
  const { pictures, files } = remembered();
  const able = linkable(entries);
  if (able.every(isImage)) return pictures;
  if (!files || !pictures || !able.some(isImage)) return files;
  return kinds[Math.max(kinds.indexOf(files), kinds.indexOf(pictures))];
}

/** The kind of links to propose: the chosen one, or else the permanent link for pictures. */
export function proposed(entries: readonly Entry[]): Kind {
  const able = linkable(entries);
  const usual = able.length > 0 && able.every((entry) => isImage(entry) && !obstacle(entry, "permanent"));
  return chosen(entries) ?? (usual ? "permanent" : "path");
}

/**
 * Remembers the kind and lifetime of links to entries. It remembers no kind if only one was
 * possible, or if the path has replaced the `wanted` kind because that was not possible.
 */
export function rememberKind(
  entries: readonly Entry[],
  { kind, lifetime }: Pick<Choice, "kind" | "lifetime">,
  wanted: Kind,
): void {
  const able = possible(entries);
  if (able.length > 1 && (kind !== "path" || able.includes(wanted)))
    remember({ lifetime, [linkable(entries).every(isImage) ? "pictures" : "files"]: kind });
}

/**
 * The reason why a visitor cannot get a link to an entry, in words; "" if the page knows none.
 */
export function obstacle(entry: Entry, kind: Kind): string {
  const { obstacles } = t.links;
  if (kind === "path") return "";
  if (entry.type === "folder") return obstacles.folder;
  if (entry.hasPassword) return obstacles.password;
  if (!may(entry, "download")) return obstacles.download;
  if (kind === "signed") return "";
  if (!may(entry, "share")) return obstacles.share;
  return session.site?.allowGuestAccess === false ? obstacles.guests : "";
}
