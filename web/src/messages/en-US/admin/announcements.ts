import type { announcements as zh } from "../../zh-CN/admin/announcements";

export const announcements: typeof zh = {
  create: "New announcement",
  publish: "Publish",
  title: "Title",
  content: "Text",
  level: "Level",
  levels: { info: "Information", warning: "Warning", danger: "Important" },
  levelHelp: {
    info: "Readers can dismiss it.",
    warning: "Readers can dismiss it. It is shown above information.",
    danger: "It is always shown first. Readers can't dismiss it.",
  },
  preview: "Preview",
  expires: "Ends",
  current: (when) => `Now: ${when}`,
  never: "Never",
  ended: (when) => `Ended ${when}`,
  empty: "No announcements",
  emptyText: "An announcement is shown at the top of every page, to everyone, also to visitors.",
  deleteText: "It disappears from every page at once.",
  wrong: {
    title: "Enter a title of 1 to 200 characters.",
    content: "Enter a text of 1 to 5,000 characters.",
    expiresIn: "Choose a time at least a minute and at most ten years from now.",
  },
};
