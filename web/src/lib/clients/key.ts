/** The fields of API keys that client configurations need. */
import type { Schemas } from "../api";

export type Permission = "read" | "write" | "delete";
export type Protocol = "api" | "webdav";
export type PublicLinks = "none" | "images" | "all";

export const permissions: readonly Permission[] = ["read", "write", "delete"];
export const protocols: readonly Protocol[] = ["api", "webdav"];
export const publicLinks: readonly PublicLinks[] = ["images", "all", "none"];

/** A newly created key. Its secret is shown only once. */
export interface FreshKey {
  /** The address of the service as clients reach it, without a trailing slash. */
  base: string;
  name: string;
  keyId: string;
  secret: string;
  /** Key id and secret, in the form of a Bearer token. */
  token: string;
  permissions: readonly string[];
  protocols: readonly string[];
  uploadPath: string;
}

export function freshKey({ key, configs }: Schemas["ApiCreateKeyReply"]): FreshKey {
  return {
    base: configs.bearer.url.slice(0, -"/api/upload".length),
    name: key.name,
    keyId: key.keyId,
    secret: key.secret,
    token: key.fullToken,
    permissions: key.permissions,
    protocols: key.protocols,
    uploadPath: key.uploadPath,
  };
}

/** Reports whether clients can upload images with the key in one request. */
export function uploads(key: Pick<FreshKey, "permissions" | "protocols">): boolean {
  return key.protocols.includes("api") && key.permissions.includes("write");
}
