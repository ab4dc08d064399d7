/** Keys of objects in the bucket, and the folders that their slashes make. */
import type { Schemas } from "../../lib/api";
import { extension } from "../../lib/names";

export type Item = Schemas["ApiFreeItemReply"];

/** The largest file that the server takes. */
export const most = 1 << 30; // bytes

/** The key of a file in a folder (`/a/b`), as the server forms it: it normalizes names. */
export function keyOf(folder: string, name: string): string {
  return `${prefixOf(folder)}${name.normalize("NFC").trim()}`;
}

/** The beginning of all keys in a folder: `a/b/`, "" for the root. */
export function prefixOf(folder: string): string {
  return folder
    .split("/")
    .filter(Boolean)
    .map((segment) => `${segment}/`)
    .join("");
}

/** The item that a new object makes in the listing of a folder; undefined for another folder. */
export function itemIn(folder: string, key: string, size: number): Item | undefined {
  const prefix = prefixOf(folder);
  if (!key.startsWith(prefix)) return undefined;
  const [name, ...below] = key.slice(prefix.length).split("/");
  const item = { name: name!, path: folder, etag: "" };
  return below.length > 0
    ? { ...item, key: `${prefix}${name}/`, type: "folder", size: 0 }
    : { ...item, key, type: "file", size };
}

/** Items with others in their place or added, each key once: folders first, then by name. */
export function merge(items: readonly Item[], others: readonly Item[]): Item[] {
  const all = new Map([...items, ...others].map((item) => [item.key, item]));
  const rank = ({ type, key }: Item) => `${type === "folder" ? 0 : 1}${key}`;
  return [...all.values()].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

const media: Record<string, string> = {
  image: "avif bmp gif heic jpeg jpg png svg webp",
  video: "avi mkv mov mp4 webm",
  audio: "aac flac m4a mp3 ogg opus wav",
};

/** A type for the icon of a file. The bucket does not tell its types in listings. */
export function mediaOf(name: string): string | undefined {
  const end = extension(name);
  const family = Object.keys(media).find((one) => media[one]!.split(" ").includes(end));
  return family && `${family}/${end}`;
}
