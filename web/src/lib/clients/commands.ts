/**
 * Commands and addresses for shells, programs and file managers. docs/webdav.md says what each of
 * them supports.
 */
import type { FreshKey } from "./key";
import { uploadRoot } from "./template";

/** Quotes a word for a POSIX shell where it needs quotes. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const header = (key: FreshKey) => `-H 'Authorization: Bearer ${key.token}'`;

export function curlUpload(key: FreshKey): string {
  return `curl -fsS ${header(key)} -F file=@picture.jpg ${shellWord(`${key.base}/api/upload`)}\n`;
}

export function curlList(key: FreshKey): string {
  const path = shellWord(`path=${uploadRoot(key.uploadPath)}`);
  return `curl -fsS ${header(key)} -G --data-urlencode ${path} ${shellWord(`${key.base}/api/files`)}\n`;
}

export function rcloneRemote(key: FreshKey): string {
  const url = shellWord(`url=${key.base}/webdav`);
  return `rclone config create larder webdav ${url} vendor=other user=${key.keyId} pass=${key.secret} --obscure\n`;
}

export function rcloneMount(key: FreshKey): string {
  const remote = shellWord(`larder:${uploadRoot(key.uploadPath).slice(1)}`);
  return `mkdir -p ~/larder\nrclone mount ${remote} ~/larder --vfs-cache-mode writes\n`;
}

/** The command asks for the password. */
export function netUse(key: FreshKey): string {
  return `net use Z: ${key.base}/webdav /user:${key.keyId} *\r\n`;
}

/** Raises the WebDAV file limit of Windows from 50 MB to its maximum of 4 GB. */
export const largeFilesReg = [
  "Windows Registry Editor Version 5.00",
  "",
  "[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\WebClient\\Parameters]",
  '"FileSizeLimitInBytes"=dword:ffffffff',
  "",
].join("\r\n");

export function webdavAddress(key: FreshKey): string {
  return `${key.base}/webdav`;
}

/** The address as GNOME (dav) and KDE (webdav) write it, with the user name in it. */
export function desktopAddress(key: FreshKey, scheme: "dav" | "webdav"): string {
  const to = new URL(`${key.base}/webdav`);
  return `${scheme}${to.protocol === "https:" ? "s" : ""}://${key.keyId}@${to.host}${to.pathname}`;
}

export function davfs2(key: FreshKey): string {
  const address = shellWord(webdavAddress(key));
  return [
    `echo ${shellWord(`${webdavAddress(key)} ${key.keyId} ${key.secret}`)} | sudo tee -a /etc/davfs2/secrets >/dev/null`,
    "sudo mkdir -p /mnt/larder",
    `sudo mount -t davfs -o uid=$(id -u),gid=$(id -g) ${address} /mnt/larder`,
    "",
  ].join("\n");
}
