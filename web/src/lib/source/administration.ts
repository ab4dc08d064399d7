/** The files of all users on all mounts, for administrators. */
import { client, take, type Schemas } from "../api";
import type { Entry } from "../entry";
import { account } from "./account";
import type { Page, Reader, Source, Wanted } from "./source";

/** A file or folder and its owner. */
export interface OwnedEntry extends Entry {
  /** The name of the owner's account; null when it was deleted. */
  username: string | null;
  ownerAvatar: string | null;
}

/** The server refuses actions that rules deny to administrators. */
const entryOf = ({ ownerId, ...row }: Schemas["ApiAdminFileReply"]): OwnedEntry => ({
  ...row,
  ...(ownerId && { ownerId }),
  permissions: ["read", "delete", "download"],
});

interface OwnedReader extends Reader {
  page(...of: Parameters<Reader["page"]>): Promise<Page & { items: readonly OwnedEntry[] }>;
}

/** All entries below every folder, the newest first. */
export const administration = {
  ...account,
  can: { search: true, filter: false, sort: false, paths: true, edit: false },
  most: 100,
  state: () => "",
  read: ({ search }: Wanted): OwnedReader => ({
    split: false,
    async page(_, nth, limit, signal) {
      const params = { query: { page: nth + 1, limit, ...(search && { search }) } };
      const { items, pagination } = await take(client.GET("/api/admin/files", { params, signal }));
      return { items: items.map(entryOf), total: pagination.total, folder: null, mount: null };
    },
  }),
} satisfies Source;
