import type { welcome as zh } from "../zh-CN/welcome";

export const welcome: typeof zh = {
  title: "Start here",
  upload: "Upload files",
  uploadText: "Drop files here, paste a picture, or choose them.",
  picgo: "Set up PicGo",
  picgoText:
    "Pictures upload and get a link while you write. A key comes with the configuration for PicGo, PicList, ShareX and uPic.",
  picgoDo: "Create a key",
};
