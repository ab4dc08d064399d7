import type { shares as zh } from "../../zh-CN/admin/shares";

export const shares: typeof zh = {
  search: "Search name or creator",
  creator: "Created by",
  deletedAccount: "A deleted account",
  openOf: (name) => `Open ${name} as a visitor`,
  fileOf: (name) => `Go to the file of ${name}`,
  revokeOf: (name) => `Revoke the share of ${name}`,
  empty: "No shares yet",
  emptyText: "Files and folders that users share are shown here.",
};
