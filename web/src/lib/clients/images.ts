/**
 * Configurations of image clients, in the format of each client. `larder key create --for` prints
 * the same.
 */
import type { FreshKey } from "./key";
import { uploadRoot } from "./template";

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/**
 * PicGo and PicList with the plugin web-uploader, which takes header and body as JSON within
 * strings.
 */
export function webUploader(key: FreshKey): string {
  return json({
    picBed: {
      current: "web-uploader",
      uploader: "web-uploader",
      "web-uploader": {
        url: `${key.base}/api/upload`,
        paramName: "file",
        jsonPath: "data.links.url",
        customHeader: JSON.stringify({ Authorization: `Bearer ${key.token}` }),
        customBody: JSON.stringify({ path: key.uploadPath }),
      },
    },
    picgoPlugins: { "picgo-plugin-web-uploader": true },
  });
}

/**
 * PicList with its built-in WebDAV uploader. Its placeholders differ, so it gets the folder before
 * them.
 */
export function webdavPlist(key: FreshKey): string {
  const folder = uploadRoot(key.uploadPath).slice(1);
  return json({
    picBed: {
      current: "webdavplist",
      uploader: "webdavplist",
      webdavplist: {
        host: `${key.base}/webdav`,
        sslEnabled: key.base.startsWith("https:"),
        username: key.keyId,
        password: key.secret,
        path: folder,
        webpath: folder,
        customUrl: key.base,
        authType: "basic",
      },
    },
  });
}

/** A custom uploader of ShareX. */
export function sxcu(key: FreshKey): string {
  return json({
    Version: "15.0.0",
    Name: "Larder",
    DestinationType: "ImageUploader, TextUploader, FileUploader",
    RequestMethod: "POST",
    RequestURL: `${key.base}/api/upload`,
    Headers: { Authorization: `Bearer ${key.token}` },
    Body: "MultipartFormData",
    FileFormName: "file",
    URL: "{json:data.links.url}",
    ErrorMessage: "{json:error.message}",
  });
}

/** Hosts of uPic: a list of strings, each a host in JSON, whose data is JSON in a string again. */
export function upic(key: FreshKey): string {
  const data = {
    url: `${key.base}/api/upload`,
    method: "POST",
    field: "file",
    headers: JSON.stringify([{ key: "Authorization", value: `Bearer ${key.token}` }]),
    resultPath: JSON.stringify(["data", "links", "url"]),
    domain: "",
  };
  return json([JSON.stringify({ id: key.keyId, name: "Larder", type: "custom", data: JSON.stringify(data) })]);
}
