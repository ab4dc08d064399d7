/** The configurations of all clients that can use a key. */
import * as commands from "./commands";
import * as images from "./images";
import { uploads, type FreshKey } from "./key";

/** Clients in the order of their tabs, under their own names. */
export const clientNames = {
  picgo: "PicGo",
  piclist: "PicList",
  sharex: "ShareX",
  upic: "uPic",
  curl: "curl",
  rclone: "rclone",
  windows: "Windows",
  macos: "macOS",
  linux: "Linux",
} as const;
export type Client = keyof typeof clientNames;

/** Texts for the user to copy. The messages explain each of them. */
export type Part =
  | "picgo"
  | "piclist"
  | "piclistWebdav"
  | "sharex"
  | "upic"
  | "curlUpload"
  | "curlList"
  | "rcloneRemote"
  | "rcloneMount"
  | "windowsDrive"
  | "windowsLarge"
  | "macos"
  | "gnome"
  | "kde"
  | "davfs2";

export interface SetUp {
  client: Client;
  parts: { part: Part; file: string; text: string }[];
}

interface Recipe {
  client: Client;
  part: Part;
  file: string;
  text: (key: FreshKey) => string;
  fits: (key: FreshKey) => boolean;
}

const webdav = (key: FreshKey) => key.protocols.includes("webdav");
const reads = (key: FreshKey) => key.protocols.includes("api") && key.permissions.includes("read");
const sends = (key: FreshKey) => webdav(key) && key.permissions.includes("write");

const recipes: Recipe[] = [
  { client: "picgo", part: "picgo", file: "picgo.json", text: images.webUploader, fits: uploads },
  { client: "piclist", part: "piclist", file: "piclist.json", text: images.webUploader, fits: uploads },
  { client: "piclist", part: "piclistWebdav", file: "piclist-webdav.json", text: images.webdavPlist, fits: sends },
  { client: "sharex", part: "sharex", file: "larder.sxcu", text: images.sxcu, fits: uploads },
  { client: "upic", part: "upic", file: "upic.json", text: images.upic, fits: uploads },
  { client: "curl", part: "curlUpload", file: "curl-upload.sh", text: commands.curlUpload, fits: uploads },
  { client: "curl", part: "curlList", file: "curl-list.sh", text: commands.curlList, fits: reads },
  { client: "rclone", part: "rcloneRemote", file: "rclone-set-up.sh", text: commands.rcloneRemote, fits: webdav },
  { client: "rclone", part: "rcloneMount", file: "rclone-mount.sh", text: commands.rcloneMount, fits: webdav },
  { client: "windows", part: "windowsDrive", file: "windows-drive.cmd", text: commands.netUse, fits: webdav },
  {
    client: "windows",
    part: "windowsLarge",
    file: "windows-large-files.reg",
    text: () => commands.largeFilesReg,
    fits: webdav,
  },
  { client: "macos", part: "macos", file: "macos.txt", text: commands.webdavAddress, fits: webdav },
  {
    client: "linux",
    part: "gnome",
    file: "gnome.txt",
    text: (key) => commands.desktopAddress(key, "dav"),
    fits: webdav,
  },
  {
    client: "linux",
    part: "kde",
    file: "kde.txt",
    text: (key) => commands.desktopAddress(key, "webdav"),
    fits: webdav,
  },
  { client: "linux", part: "davfs2", file: "davfs2.sh", text: commands.davfs2, fits: webdav },
];

/** The configurations that fit a key, in the order of the tabs. */
export function setUps(key: FreshKey): SetUp[] {
  const found: SetUp[] = [];
  for (const client of Object.keys(clientNames) as Client[]) {
    const parts = recipes
      .filter((recipe) => recipe.client === client && recipe.fits(key))
      .map(({ part, file, text }) => ({ part, file, text: text(key) }));
    if (parts.length > 0) found.push({ client, parts });
  }
  return found;
}
