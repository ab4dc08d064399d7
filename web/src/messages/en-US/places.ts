import type { places as zh } from "../zh-CN/places";

const items = (n: number) => (n === 1 ? "1 item" : `${n.toLocaleString("en-US")} items`);

export const places: typeof zh = {
  added: (n) => `${items(n)} added to Favorites.`,
  tooMany: "You can have at most 1,000 favorites.",
  none: "No favorites yet",
  noneText: "Choose “Add to Favorites” in the menu of a file or folder to see it here.",
  noRecent: "No recent files yet",
  noRecentText: "Files that you upload or change appear here.",
  folders: "Folders",
};
