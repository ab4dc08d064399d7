/** The purposes of a key, with the settings that each of them needs. */
import type { Permission, Protocol, PublicLinks } from "./key";

export type Purpose = "image" | "script" | "drive";
export const purposes: readonly Purpose[] = ["image", "script", "drive"];

export interface Preset {
  permissions: Permission[];
  protocols: Protocol[];
  uploadPath: string;
  publicLinks: PublicLinks;
}

/**
 * The settings for a purpose. Programs get a folder below the default folder; a drive gets the
 * default folder itself.
 */
export function preset(purpose: Purpose, defaultPath: string): Preset {
  const uploads = `${defaultPath.replace(/\/+$/, "")}/uploads`;
  switch (purpose) {
    case "image":
      return {
        permissions: ["read", "write"],
        protocols: ["api"],
        uploadPath: `${uploads}/{year}/{month}`,
        publicLinks: "images",
      };
    case "script":
      return { permissions: ["read", "write"], protocols: ["api"], uploadPath: uploads, publicLinks: "none" };
    case "drive":
      return {
        permissions: ["read", "write", "delete"],
        protocols: ["webdav"],
        uploadPath: defaultPath,
        publicLinks: "none",
      };
  }
}
