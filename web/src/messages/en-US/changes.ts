import type { changes as zh } from "../zh-CN/changes";

const items = (n: number) => (n === 1 ? "1 item" : `${n.toLocaleString("en-US")} items`);

export const changes: typeof zh = {
  moving: (to) => `Moving to “${to}”`,
  copying: (to) => `Copying to “${to}”`,
  moved: (n, to) => `${items(n)} moved to “${to}”.`,
  notMoved: (n, reason) => `${items(n)} couldn't be moved: ${reason}`,
  copied: (n, to) => `${items(n)} copied to “${to}”.`,
  notCopied: (n, reason) => `${items(n)} couldn't be copied: ${reason}`,
  undo: "Undo",
  undone: "Undone.",
  changedSince: (name) => `Nothing was undone, because “${name}” or its order has changed since.`,
  elsewhere: "An item is in another folder now, or its name is taken.",
  movingBack: "Moving back",
  movedBack: (n) => `${items(n)} moved back.`,
  renamed: (name) => `Renamed to “${name}”.`,
  appearanceChanged: (name) => `Appearance of “${name}” changed.`,
  unstarred: (n) => `${items(n)} removed from Favorites.`,
  reordered: (name) => `Position of “${name}” changed.`,
};
