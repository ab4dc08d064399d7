import { isImage, may, type Entry } from "./entry";
import { isDrawing, mostDrawingTile } from "./preview";
import type { PictureSize, Source } from "./source/source";

const sizes: PictureSize[] = [160, 320, 640, 1280, 2048];
/**
 * A photo of 3 : 2 or 2 : 3 that covers a tile of 4 : 3 is so much longer than the tile is wide.
 */
const cropped = 1.5;
/** A picture may be enlarged by a tenth. */
const nearEnough = 0.9;

/** The size of a thumbnail that covers a tile of a width in CSS pixels. */
export function sizeFor(width: number, ratio = devicePixelRatio): PictureSize {
  const wanted = width * cropped * ratio * nearEnough;
  return sizes.find((size) => size >= wanted) ?? 2048;
}

/** The size of a thumbnail whose longest edge has a length in CSS pixels. */
export function sizeOf(longest: number, ratio = devicePixelRatio): PictureSize {
  return sizes.find((size) => size >= longest * ratio * nearEnough) ?? 2048;
}

/** Pictures that are longer than this many times their width, or wider than their height. */
const longest = 2.2;

/**
 * How a picture is shown in a tile: it covers the tile; a panorama is shown whole, since a crop
 * would leave a sliver of it; a picture smaller than the tile keeps its size.
 */
export function fitOf(
  picture: { width: number; height: number },
  tile: { width: number; height: number },
): "cover" | "contain" | "none" {
  if (picture.width < tile.width && picture.height < tile.height) return "none";
  const ratio = picture.width / picture.height;
  return ratio > longest || ratio < 1 / longest ? "contain" : "cover";
}

/**
 * The address of a cover or an avatar if pages may show it, "" otherwise. The API accepts any http
 * or https address, but a picture of another origin would tell its server who looks at the page,
 * and when.
 */
export function shownPicture(address: string | null | undefined): string {
  if (!address) return "";
  let url: URL;
  try {
    url = new URL(address, location.href);
  } catch {
    return "";
  }
  return /^https?:$/.test(url.protocol) && url.origin === location.origin ? address : "";
}

/** The address of an account's picture: the uploaded one, or the one that the user has named. */
export function accountPicture(account?: { avatar: string | null; avatarUrl: string | null }): string {
  return account?.avatar ?? shownPicture(account?.avatarUrl);
}

/**
 * The address of an entry's picture: its cover, its thumbnail, or a small drawing itself; "" for
 * none.
 */
export function pictureOf(source: Source, entry: Entry, size: PictureSize): string {
  const cover = shownPicture(entry.coverUrl);
  if (cover) return cover;
  if (!isImage(entry) || entry.hasPassword) return "";
  if (!isDrawing(entry)) return source.thumbnail(entry, size);
  return entry.size <= mostDrawingTile && may(entry, "download") ? source.content(entry) : "";
}
