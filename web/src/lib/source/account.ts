/** The tree of the signed-in account. */
import { client, take } from "../api";
import { isImage, pathOf, type Entry } from "../entry";
import { address } from "../router.svelte";
import { onFolderChange } from "../upload/changes";
import type { Kind, PictureSize, Reader, Source, Wanted } from "./source";

/** The query of a page of a tree. src/boot.js requests the first pages by the same address. */
function query({ path, sort, order, search, filter }: Wanted, nth: number, limit: number, type: Kind | undefined) {
  return {
    path,
    page: nth + 1,
    limit,
    ...(type && { type }),
    ...(sort && { sort, order }),
    ...(search && { search }),
    ...(Object.fromEntries(new URLSearchParams(filter)) as object),
  };
}

export const account: Source = {
  can: { search: true, filter: true, sort: true, paths: true, edit: true },
  most: 1000,
  read: (wanted) => tree(wanted, "/api/files", !wanted.filter), // a filter finds no folders
  thumbnail,
  cover: (id, size) => `/api/files/${id}/thumbnail?size=${size}`,
  content: (entry) => address("", pathOf(entry)),
  download: async ({ id }) => (await take(client.GET("/api/files/{id}/download", { params: { path: { id } } }))).url,
  state: (path) => `/api/files/revision?path=${encodeURIComponent(path)}`,
  watch: onFolderChange,
};

/** The part of the tree that visitors without an account may see. */
export const guests: Source = {
  ...account,
  can: { search: true, filter: false, sort: true, paths: true, edit: false },
  read: (wanted) => tree(wanted, "/api/public/files", false),
  download: async (entry) => address("", pathOf(entry)),
  state: (path) => `/api/public/files/revision?path=${encodeURIComponent(path)}`,
};

function tree(wanted: Wanted, at: "/api/files" | "/api/public/files", split: boolean): Reader {
  return {
    split,
    async page(kind, nth, limit, signal) {
      const params = { query: query(wanted, nth, limit, split ? kind : undefined) };
      const { items, pagination, folder, mount } = await take(client.GET(at, { params, signal }));
      return { items, total: pagination.total, folder, mount };
    },
  };
}

/** The server ignores `changed`, which makes the page load the thumbnail again after a change. */
function thumbnail(entry: Entry, size: PictureSize): string {
  return isImage(entry) && !entry.hasPassword
    ? `/api/files/${entry.id}/thumbnail?size=${size}&changed=${entry.updatedAt}`
    : "";
}
