import type { FirstMessages } from "../zh-CN";
import { common, failures } from "./common";
import { files } from "./files";
import { links } from "./links";
import { login } from "./login";
import { gone, shell } from "./shell";

export const messages: FirstMessages = { common, failures, files, gone, links, login, shell };
