import type { mounts as zh } from "../../zh-CN/admin/mounts";

export const mounts: typeof zh = {
  create: "Add mount",
  intro:
    "A mount shows the content of a storage at a path. Where paths overlap, the mount with the higher priority wins, then the longer path, then the older mount.",
  path: "Path",
  storage: "Storage",
  visibility: "Visibility",
  visibilities: { public: "Public", private: "Needs sign-in" },
  sorting: "Sorting",
  priority: "Priority",
  sorts: { name: "Name", time: "Time", size: "Size", manual: "Manual" },
  orders: { asc: "Ascending", desc: "Descending" },
  sorted: (by, order) => `${by}, ${order.toLowerCase()}`,
  why: {
    priority: (winner, other) => `has the higher priority (${winner} > ${other})`,
    longer: () => "has the longer path",
    older: () => "is older",
  },
  covered: (name, path, why) => `Completely covered by “${name}” (${path}), which ${why}.`,
  winsOver: (name, path, why) => `Wins over “${name}” (${path}): it ${why}.`,
  openOf: (path) => `Open ${path}`,
  empty: "No mounts",
  emptyText: "Without a mount, users see no folders.",
  noStorage: "Add a storage first.",
  toStorage: "Go to storage",
  mountPath: "Path",
  pathHelp: "Users see the files at this path, for example /photos.",
  name: "Name",
  nameHelp: "Shown on the page of the mount's folder.",
  priorityHelp: "A whole number, 0 by default. The higher one wins.",
  sortBy: "Default sorting",
  sortOrder: "Order",
  stays: "Existing files stay in the former storage. New files go to the new one.",
  movesAlong: (from) => `The files move along. Links to addresses below ${from} stop working.`,
  wouldBeCovered: (name, path, why) =>
    `“${name}” (${path}) would cover this mount, because it ${why}. Raise the priority, or choose another path.`,
  wouldCover: (names) => `Would completely cover: ${names}. Their content stays, but can't be reached.`,
  hides: (n) =>
    n === "1"
      ? "There is 1 item at this path now. The mount hides it; it reappears when the mount is deleted."
      : `There are ${n} items at this path now. The mount hides them; they reappear when the mount is deleted.`,
  wrong: {
    mountPath:
      "Enter a path that begins with /, with at most 64 levels, without “..” and control characters. It must not begin with a reserved name such as api, app, share or webdav.",
    name: "Enter a name of 1 to 255 characters.",
    providerId: "Choose a storage.",
    priority: "Enter a whole number from -1,000,000 to 1,000,000.",
    sortBy: "Choose a sorting.",
    sortOrder: "Choose an order.",
  },
  guarded:
    "The password of a folder would no longer cover the content of a mount below it. Remove that password first, or set one on the mount's own folder.",
  deleteText: "Its empty folders and the rules for it alone are deleted too. The storage stays.",
  contains: (n) =>
    n === "1"
      ? "This mount has 1 item. If it is a file or a folder with files, the mount can't be deleted."
      : `This mount has ${n} items. If there are files among them or in their folders, the mount can't be deleted.`,
  showItems: "Show the items",
  deleteRefused:
    "This mount has files: move or delete them first. If a folder above it has a password, remove the password first.",
};
