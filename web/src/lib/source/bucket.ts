/** The bucket of a free-mode session. Its pages follow each other by cursors, and vary in size. */
import { client, take, type Schemas } from "../api";
import type { Entry, Permission } from "../entry";
import { onFolderChange } from "../upload/changes";
import type { Reader, Source } from "./source";

const permissions: Permission[] = ["read", "write", "delete", "download"];

export const bucket: Source = {
  can: { search: false, filter: false, sort: false, paths: false, edit: false },
  most: 1000,
  read: ({ path }) => walk(path),
  thumbnail: () => "",
  content: bytes,
  download: async (entry) => bytes(entry),
  state: () => "",
  watch: onFolderChange,
};

function bytes(entry: Entry): string {
  return `/api/free-mode/download?key=${encodeURIComponent(entry.id)}`;
}

function entryOf({ key, name, path, type, size }: Schemas["ApiFreeItemReply"]): Entry {
  const times = { createdAt: null, updatedAt: null };
  return { id: key, name, path, type, size, hasPassword: false, permissions, ...times };
}

/** Reads pages of the bucket, one after the other, until it has the wanted entries. */
function walk(path: string): Reader {
  const known: Entry[] = [];
  let cursor: string | null | undefined; // null after the last page
  let turn: Promise<unknown> = Promise.resolve();

  async function until(end: number, signal: AbortSignal) {
    while (cursor !== null && known.length < end) {
      const params = { query: { path, ...(cursor && { cursor }) } };
      const page = await take(client.GET("/api/free-mode/files", { params, signal }));
      known.push(...page.items.map(entryOf));
      cursor = page.cursor;
    }
  }

  return {
    split: false,
    async page(_, nth, limit, signal) {
      const read = turn.then(() => until((nth + 1) * limit, signal));
      turn = read.catch(() => undefined);
      await read;
      const open = cursor !== null;
      const items = known.slice(nth * limit, (nth + 1) * limit);
      return { items, total: known.length + (open ? 1 : 0), open, folder: null, mount: null };
    },
  };
}
