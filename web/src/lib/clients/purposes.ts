/** What a key is for, and what it needs for that. */
import type { Permission, Protocol, PublicLinks } from "./key";

export type Purpose = "image" | "script" | "drive";
export const purposes: readonly Purpose[] = ["image", "script", "drive"];

export interface Preset {
  permissions: Permission[];
  protocols: Protocol[];
  uploadPath: string;
  publicLinks: PublicLinks;
}

/** Programs get a folder of their own below the one that opens first; a drive is that folder. */
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
