import type { files as zh } from "../../zh-CN/admin/files";

export const files: typeof zh = {
  list: "All files",
  search: "Search all files by name",
  found: (n) => (n === "1" ? "1 item found" : `${n} items found`),
  name: "Name",
  owner: "Owner",
  size: "Size",
  changed: "Changed",
  folder: "Open its folder",
  folderOf: (name) => `Open the folder of ${name}`,
  downloadOf: (name) => `Download ${name}`,
  explainOf: (name) => `Explain access to ${name}`,
  hasPassword: "Has an access password",
  locked: (name) => `“${name}” has an access password. Open it in its folder and enter the password.`,
  none: (text) => `No names contain “${text}”`,
  empty: "No files yet",
};
