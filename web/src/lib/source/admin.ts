/** All entries of all users, newest first, for administrators. */
import { client, take } from "../api";
import type { Permission } from "../entry";
import { account } from "./account";
import type { Source } from "./source";

const permissions: Permission[] = ["read", "delete", "download"];

export const everything: Source = {
  ...account,
  can: { search: true, sort: false, edit: false },
  most: 100,
  read: ({ search }) => ({
    split: false,
    async page(_, nth, limit, signal) {
      const params = { query: { page: nth + 1, limit, ...(search && { search }) } };
      const { items, pagination } = await take(client.GET("/api/admin/files", { params, signal }));
      const entries = items.map(({ ownerId, ...item }) => ({ ...item, ownerId: ownerId ?? "", permissions }));
      return { items: entries, total: pagination.total, folder: null, mount: null };
    },
  }),
};
