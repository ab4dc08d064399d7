/** The vendors in forms of storages, and settings for their S3 interfaces: docs/stores.md. */
import type { Schemas } from "./api";

type Provider = Schemas["ApiProviderReply"];

export const vendors = ["disk", "aws", "r2", "b2", "wasabi", "oss", "cos", "minio", "garage", "other"] as const;
export type Vendor = (typeof vendors)[number];

interface Preset {
  /** store_b has the bucket in the path of addresses, store_c in front of the host. */
  type: Provider["type"];
  /** The endpoint, with REGION and ACCOUNT in their places; "" where there is no pattern. */
  endpoint: string;
  region: string;
}

export const presets: Record<Vendor, Preset> = {
  disk: { type: "store_a", endpoint: "", region: "" },
  aws: { type: "store_c", endpoint: "https://s3.REGION.amazonaws.com", region: "us-east-1" },
  r2: { type: "store_b", endpoint: "https://ACCOUNT.r2.cloudflarestorage.com", region: "auto" },
  b2: { type: "store_b", endpoint: "https://s3.REGION.backblazeb2.com", region: "us-west-004" },
  wasabi: { type: "store_c", endpoint: "https://s3.REGION.wasabisys.com", region: "us-east-1" },
  oss: { type: "store_c", endpoint: "https://s3.oss-REGION.aliyuncs.com", region: "cn-hangzhou" },
  cos: { type: "store_c", endpoint: "https://cos.REGION.myqcloud.com", region: "ap-guangzhou" },
  minio: { type: "store_b", endpoint: "", region: "" },
  garage: { type: "store_b", endpoint: "", region: "garage" },
  other: { type: "store_b", endpoint: "", region: "" },
};

/** The endpoint of a vendor in a region. */
export function endpointIn(vendor: Vendor, region: string): string {
  return presets[vendor].endpoint.replace("REGION", region.trim() || "REGION");
}

/** The endpoint after the region has changed: one that was entered by hand stays. */
export function followRegion(vendor: Vendor, endpoint: string, from: string, to: string): string {
  const pattern = presets[vendor].endpoint;
  return pattern.includes("REGION") && endpoint === endpointIn(vendor, from) ? endpointIn(vendor, to) : endpoint;
}

/** The vendor of a stored storage, by its endpoint. */
export function vendorOf({ type, endpoint }: Pick<Provider, "type" | "endpoint">): Vendor {
  if (type === "store_a") return "disk";
  const named = vendors.find((vendor) => {
    const pattern = presets[vendor].endpoint.replaceAll(".", "\\.").replace(/REGION|ACCOUNT/, "[a-z0-9.-]+");
    return pattern !== "" && new RegExp(`^${pattern}$`).test(endpoint);
  });
  return named ?? "other";
}
