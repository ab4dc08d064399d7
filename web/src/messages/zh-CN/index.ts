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

export const messages = { common, failures, files, gone, keys, links, login, panels, shell, ui, upload, viewer };
export type Messages = typeof messages;
