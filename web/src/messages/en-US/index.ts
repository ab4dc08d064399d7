import type { Messages } from "../zh-CN";
import { common, failures } from "./common";
import { files } from "./files";
import { keys } from "./keys";
import { links } from "./links";
import { login } from "./login";
import { panels } from "./panels";
import { gone, shell } from "./shell";
import { ui } from "./ui";
import { upload } from "./upload";
import { viewer } from "./viewer";

export const messages: Messages = {
  common,
  failures,
  files,
  gone,
  keys,
  links,
  login,
  panels,
  shell,
  ui,
  upload,
  viewer,
};
