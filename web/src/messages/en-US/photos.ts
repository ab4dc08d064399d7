import type { photos as zh } from "../zh-CN/photos";

export const photos: typeof zh = {
  date: "Date",
  choose: (month) => `Select all of ${month}`,
  kind: "Type",
  kinds: { all: "All", image: "Pictures", video: "Videos" },
  none: { all: "No photos yet", image: "No pictures yet", video: "No videos yet" },
  noneText: "Pictures and videos that you upload to any folder appear here, by month.",
  video: "Video",
};
