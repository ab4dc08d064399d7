import type { places as zh } from "../zh-CN/places";

const items = (n: number) => (n === 1 ? "1 item" : `${n.toLocaleString("en-US")} items`);

export const places: typeof zh = {
  added: (n) => `${items(n)} added to Favourites.`,
  tooMany: "You can have at most 1,000 favourites.",
  none: "No favourites yet",
  noneText: "Choose “Add to Favourites” in the menu of a file or folder to see it here.",
  noRecent: "No recent files yet",
  noRecentText: "Files that you upload or change appear here.",
  folders: "Folders",
};
