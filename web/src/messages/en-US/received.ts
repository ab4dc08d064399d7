import type { received as zh } from "../zh-CN/received";

export const received: typeof zh = {
  title: (n, count) => (n === 1 ? "Upload 1 file" : `Upload ${count} files`),
  account: (name) => `To the account “${name}”`,
  list: "Files to upload",
  more: (count) => `and ${count} more`,
  chosen: (folder) => `Target: ${folder}`,
  here: "Upload here",
  nothing: "Only files can be stored here",
  nothingText: "Links and text aren't files. Choose pictures or other files in the other app.",
  large: "Too many files, or too large",
  largeText: "Another app can send up to 500 files and 4 GB at once. Open a folder and choose the files there instead.",
  storage: "The browser couldn't keep the files",
  storageText: "The storage of this device may be full. Open a folder and choose the files there instead.",
  gone: "No files are waiting",
  goneText: "They were uploaded or canceled, or have waited for more than a day. Choose them again in the other app.",
};
