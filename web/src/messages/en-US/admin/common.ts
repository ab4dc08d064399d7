import type { common as zh } from "../../zh-CN/admin/common";

export const common: typeof zh = {
  title: "Administration",
  sections: {
    dashboard: "Dashboard",
    users: "Users",
    files: "Files",
    shares: "Shares",
    storage: "Storage",
    mounts: "Mounts",
    rules: "Rules",
    announcements: "Announcements",
    logs: "Logs",
    system: "System",
    site: "Site",
  },
  failed: "Couldn't load the list.",
  saved: "Saved",
  deleted: "Deleted",
  create: "Create",
  edit: "Edit",
  editOf: (name) => `Edit “${name}”`,
  delete: "Delete",
  deleteOf: (name) => `Delete “${name}”`,
};
