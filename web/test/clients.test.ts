import { describe, expect, test } from "vitest";
import { badAddress, listed } from "../src/lib/clients/addresses";
import * as commands from "../src/lib/clients/commands";
import * as images from "../src/lib/clients/images";
import type { FreshKey } from "../src/lib/clients/key";
import { freshKey } from "../src/lib/clients/key";
import { preset } from "../src/lib/clients/purposes";
import { setUps } from "../src/lib/clients/setups";
import { example, isUploadPath, unknownPlaceholder, uploadRoot } from "../src/lib/clients/template";

const keyId = "pk_0123456789abcdefghijklmn";
const secret = "sk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL";
const token = `${keyId}.${secret}`;
const key: FreshKey = {
  base: "https://files.example.org",
  name: "a key",
  keyId,
  secret,
  token,
  permissions: ["read", "write"],
  protocols: ["webdav", "api"],
  uploadPath: "/home/ann/uploads/{year}/{month}",
};

test("the address of the service is what its answer says, port and all", () => {
  const fields = { id: keyId, keyId, secret, fullToken: token, name: "a key", permissions: [], protocols: [] };
  const rest = { uploadPath: "/", allowedIps: [], publicLinks: "none" as const, rootOnly: false };
  const made = freshKey({
    key: { ...fields, ...rest, createdAt: 0, expiresAt: null },
    configs: {
      bearer: { url: "http://10.0.0.2:8080/api/upload", header: `Authorization: Bearer ${token}` },
      webdav: { url: "http://10.0.0.2:8080/webdav", username: keyId, password: secret },
    },
  });
  expect(made.base).toBe("http://10.0.0.2:8080");
  expect(made.token).toBe(token);
});

describe("image clients", () => {
  // Its sources: customHeader and customBody go through JSON.parse, jsonPath is split at its dots.
  test("PicGo and PicList, plugin web-uploader", () => {
    expect(JSON.parse(images.webUploader(key))).toEqual({
      picBed: {
        current: "web-uploader",
        uploader: "web-uploader",
        "web-uploader": {
          url: "https://files.example.org/api/upload",
          paramName: "file",
          jsonPath: "data.links.url",
          customHeader: `{"Authorization":"Bearer ${token}"}`,
          customBody: '{"path":"/home/ann/uploads/{year}/{month}"}',
        },
      },
      picgoPlugins: { "picgo-plugin-web-uploader": true },
    });
  });

  // It puts the folder behind the host and, as it is, behind customUrl.
  test("PicList, WebDAV", () => {
    const webdavplist = {
      host: "https://files.example.org/webdav",
      sslEnabled: true,
      username: keyId,
      password: secret,
      path: "home/ann/uploads",
      webpath: "home/ann/uploads",
      customUrl: "https://files.example.org",
      authType: "basic",
    };
    expect(JSON.parse(images.webdavPlist(key)).picBed).toEqual({
      current: "webdavplist",
      uploader: "webdavplist",
      webdavplist,
    });
    const plain = JSON.parse(images.webdavPlist({ ...key, base: "http://lan.test:8080", uploadPath: "/" }));
    expect(plain.picBed.webdavplist).toMatchObject({
      host: "http://lan.test:8080/webdav",
      sslEnabled: false,
      path: "",
    });
  });

  // getsharex.com/docs/custom-uploader
  test("ShareX", () => {
    expect(JSON.parse(images.sxcu(key))).toEqual({
      Version: "15.0.0",
      Name: "Larder",
      DestinationType: "ImageUploader, TextUploader, FileUploader",
      RequestMethod: "POST",
      RequestURL: "https://files.example.org/api/upload",
      Headers: { Authorization: `Bearer ${token}` },
      Body: "MultipartFormData",
      FileFormName: "file",
      URL: "{json:data.links.url}",
      ErrorMessage: "{json:error.message}",
    });
  });

  test("uPic: JSON in strings in strings", () => {
    const hosts = JSON.parse(images.upic(key)) as string[];
    expect(hosts).toHaveLength(1);
    const host = JSON.parse(hosts[0]!) as Record<string, string>;
    expect(host).toMatchObject({ id: keyId, name: "Larder", type: "custom" });
    expect(JSON.parse(host["data"]!)).toEqual({
      url: "https://files.example.org/api/upload",
      method: "POST",
      field: "file",
      headers: `[{"key":"Authorization","value":"Bearer ${token}"}]`,
      resultPath: '["data","links","url"]',
      domain: "",
    });
  });
});

describe("commands", () => {
  test("curl", () => {
    expect(commands.curlUpload(key)).toBe(
      `curl -fsS -H 'Authorization: Bearer ${token}' -F file=@picture.jpg https://files.example.org/api/upload\n`,
    );
    expect(commands.curlList({ ...key, uploadPath: "/home/ann's" })).toBe(
      `curl -fsS -H 'Authorization: Bearer ${token}' -G --data-urlencode 'path=/home/ann'\\''s' https://files.example.org/api/files\n`,
    );
  });

  test("rclone, whose mount begins at the upload root", () => {
    expect(commands.rcloneRemote(key)).toBe(
      `rclone config create larder webdav url=https://files.example.org/webdav vendor=other user=${keyId} pass=${secret} --obscure\n`,
    );
    expect(commands.rcloneMount(key)).toContain("rclone mount larder:home/ann/uploads ~/larder");
    expect(commands.rcloneMount({ ...key, uploadPath: "/" })).toContain("rclone mount larder: ~/larder");
    expect(commands.rcloneMount({ ...key, uploadPath: "/my files" })).toContain("rclone mount 'larder:my files' ");
  });

  test("Windows, in its own line ends", () => {
    expect(commands.netUse(key)).toBe(`net use Z: https://files.example.org/webdav /user:${keyId} *\r\n`);
    // learn.microsoft.com, "Folder copy error message when downloading a file that is larger than
    // 50000000 bytes"
    expect(commands.largeFilesReg).toBe(
      "Windows Registry Editor Version 5.00\r\n\r\n" +
        "[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\WebClient\\Parameters]\r\n" +
        '"FileSizeLimitInBytes"=dword:ffffffff\r\n',
    );
  });

  test("addresses of desktops", () => {
    expect(commands.webdavAddress(key)).toBe("https://files.example.org/webdav");
    expect(commands.desktopAddress(key, "dav")).toBe(`davs://${keyId}@files.example.org/webdav`);
    expect(commands.desktopAddress(key, "webdav")).toBe(`webdavs://${keyId}@files.example.org/webdav`);
    const plain = { ...key, base: "http://lan.test:8080" };
    expect(commands.desktopAddress(plain, "dav")).toBe(`dav://${keyId}@lan.test:8080/webdav`);
    expect(commands.davfs2(key).split("\n")[0]).toBe(
      `echo 'https://files.example.org/webdav ${keyId} ${secret}' | sudo tee -a /etc/davfs2/secrets >/dev/null`,
    );
  });
});

describe("tabs are those that the key is made for", () => {
  const tabs = (permissions: string[], protocols: string[]) =>
    setUps({ ...key, permissions, protocols }).map(({ client }) => client);

  test("uploads alone", () => {
    expect(tabs(["write"], ["api"])).toEqual(["picgo", "piclist", "sharex", "upic", "curl"]);
  });
  test("WebDAV alone", () => {
    expect(tabs(["read", "write", "delete"], ["webdav"])).toEqual(["piclist", "rclone", "windows", "macos", "linux"]);
  });
  test("reading by the API alone", () => {
    expect(tabs(["read"], ["api"])).toEqual(["curl"]);
  });
  test("deleting by the API alone", () => {
    expect(tabs(["delete"], ["api"])).toEqual([]);
  });
  test("everything, each file under a name of its own", () => {
    const all = setUps({ ...key, permissions: ["read", "write", "delete"] });
    expect(all.map(({ client }) => client).join(" ")).toBe("picgo piclist sharex upic curl rclone windows macos linux");
    const files = all.flatMap(({ parts }) => parts.map(({ file }) => file));
    expect(new Set(files).size).toBe(files.length);
  });
});

test("what a key is for chooses the rest of it", () => {
  expect(preset("image", "/")).toEqual({
    permissions: ["read", "write"],
    protocols: ["api"],
    uploadPath: "/uploads/{year}/{month}",
    publicLinks: "images",
  });
  expect(preset("script", "/home/ann").uploadPath).toBe("/home/ann/uploads");
  expect(preset("drive", "/home/ann")).toEqual({
    permissions: ["read", "write", "delete"],
    protocols: ["webdav"],
    uploadPath: "/home/ann",
    publicLinks: "none",
  });
});

test("upload folders", () => {
  expect(uploadRoot("/uploads/{year}/{month}")).toBe("/uploads");
  expect(uploadRoot("/a/b{ext}/c")).toBe("/a");
  expect(uploadRoot("/{username}")).toBe("/");
  expect(uploadRoot("/a/{lone")).toBe("/a/{lone");
  expect(unknownPlaceholder("/a/{year}/{week}")).toBe("{week}");
  expect(unknownPlaceholder("/a/{year}/{ext}")).toBe("");
  expect(isUploadPath("/a/../b")).toBe(false);
  expect(isUploadPath("~/a")).toBe(false);
  expect(isUploadPath(" ")).toBe(false);
  expect(isUploadPath("/")).toBe(true);
  const now = new Date(Date.UTC(2026, 0, 2, 23, 4, 5));
  expect(example("/up/{year}/{month}-{day}/{username}.{ext}", "a.b.jpg", "ann", now)).toBe(
    "/up/2026/01-02/ann.jpg/a.b.jpg",
  );
  expect(example("up/{filename}/", "photo.jpg", "ann", now)).toBe("/up/photo/photo.jpg");
});

test("addresses, in whatever way they are listed", () => {
  expect(listed(" 203.0.113.9,\n10.0.0.0/8；::1 ")).toEqual(["203.0.113.9", "10.0.0.0/8", "::1"]);
  expect(badAddress(["203.0.113.9", "10.0.0.0/8", "2001:db8::/32", "::ffff:1.2.3.4"])).toBe("");
  for (const bad of ["localhost", "256.0.0.1", "1.2.3", "10.0.0.0/33", "10.0.0.0/", "::1/129", "1.2.3.4/8/8"]) {
    expect(badAddress(["::1", bad])).toBe(bad);
  }
});
