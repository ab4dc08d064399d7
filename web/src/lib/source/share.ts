/** The folder of a share, as a visitor with its address sees it. Paths are relative to it. */
import { client, take } from "../api";
import { isImage, type Entry, type Permission } from "../entry";
import { isDrawing, kindOf } from "../preview";
import type { Source } from "./source";

export interface Visit {
  id: string;
  allowPreview: boolean;
  allowDownload: boolean;
}

/** The permissions of a visitor for the entries of a share. */
export function permissionsOf({ allowPreview, allowDownload }: Visit): Permission[] {
  return [...(allowPreview ? (["read"] as const) : []), ...(allowDownload ? (["download"] as const) : [])];
}

/** Reports whether the page shows a file as text or as a drawing: these come in a sandbox. */
function boxed(entry: Entry): boolean {
  return isDrawing(entry) || ["markdown", "code", "text"].includes(kindOf(entry));
}

export function shared(visit: Visit): Source {
  const { id, allowPreview } = visit;
  const share = encodeURIComponent(id);
  const permissions = permissionsOf(visit);
  // the server ignores `changed`, which makes the page load a file again after a change
  const query = ({ id, updatedAt }: Entry) =>
    `file=${encodeURIComponent(id)}${updatedAt === null ? "" : `&changed=${updatedAt}`}`;
  return {
    can: { search: false, filter: false, sort: true, paths: false, edit: false },
    most: 1000,
    read: ({ path, sort, order }) => ({
      split: false,
      async page(_, nth, limit, signal) {
        const params = { path: { id }, query: { path, page: nth + 1, limit, ...(sort && { sort, order }) } };
        const { items, pagination } = await take(client.GET("/api/shares/{id}/files", { params, signal }));
        const entries = items.map((item) => ({ ...item, hasPassword: false, permissions }));
        return { items: entries, total: pagination.total, folder: null, mount: null };
      },
    }),
    thumbnail: (entry, size) =>
      allowPreview && isImage(entry) ? `/api/shares/${share}/thumbnail?${query(entry)}&size=${size}` : "",
    content(entry) {
      if (!allowPreview) return "";
      const address = `/api/shares/${share}/preview?${query(entry)}`;
      return boxed(entry) ? `${address}&sandbox=true` : address;
    },
    async download(entry) {
      const params = { path: { id }, query: { file: entry.id } };
      return (await take(client.GET("/api/shares/{id}/download", { params }))).url;
    },
    async archive(entries) {
      const params = { path: { id }, query: { files: entries.map((entry) => entry.id).join(",") } };
      return (await take(client.GET("/api/shares/{id}/download", { params }))).url;
    },
    state: (path) => `/api/shares/${share}/revision?path=${encodeURIComponent(path)}`,
    watch: () => () => undefined, // the visitor changes nothing
  };
}
