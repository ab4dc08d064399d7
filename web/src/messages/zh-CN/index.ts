import { common, failures } from "./common";
import { files } from "./files";
import { links } from "./links";
import { login } from "./login";
import { gone, shell } from "./shell";

/** The texts of the frame around every screen and of the screen of files. */
export const messages = { common, failures, files, gone, links, login, shell };
export type FirstMessages = typeof messages;
