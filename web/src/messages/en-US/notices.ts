import type { notices as zh } from "../zh-CN/notices";

export const notices: typeof zh = {
  markAll: "Mark all as read",
  unread: "Unread",
  empty: "No notifications",
  emptyText:
    "You'll find a note here when a background job has ended, a share is about to expire, your storage is nearly full, or an upload wasn't finished.",
  older: "Show older notifications",
  moved: (name, folder) => `${name} was moved to ${folder}`,
  copied: (name, folder) => `${name} was copied to ${folder}`,
  movedMany: (items, folder) => `${items} items were moved to ${folder}`,
  copiedMany: (items, folder) => `${items} items were copied to ${folder}`,
  files: (n, shown) => (n === 1 ? "1 file" : `${shown} files`),
  moveFailed: (name, folder) => `${name} wasn't moved to ${folder}`,
  copyFailed: (name, folder) => `${name} wasn't copied to ${folder}`,
  named: (name) => `“${name}”`,
  item: "An item",
  failed: "The job failed. Check the file and the target folder, then try again.",
  expires: (name, time) => `The share of “${name}” expires on ${time}`,
  expired: (name, time) => `The share of “${name}” expired on ${time}`,
  extend: "If it's still needed, extend it in My shares.",
  quota: (percent) => `${percent}% of your storage is used`,
  quotaText: "When it's full, uploads stop. Delete files that you don't need, or ask your administrator.",
  upload: (name) => `The upload of “${name}” wasn't finished`,
  uploadAgain: "Upload the file again.",
  uploadKept: (time) => `The received parts are kept until ${time}. Upload the same file before then to go on.`,
};
