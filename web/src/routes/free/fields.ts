/**
 * The fields of the connection form. The tab remembers them until the user ends the session, so
 * that only the secret key must be entered again when the time of the session is over.
 */
import { endpointIn, presets, vendors, type Vendor } from "../../lib/vendors";

export interface Fields {
  vendor: Vendor;
  /** store_b has the bucket in the path of addresses, store_c in front of the host. */
  type: "store_b" | "store_c";
  endpoint: string;
  region: string;
  bucket: string;
  accessKeyId: string;
  hours: number;
}

export const longest = 8; // hours

export const buckets = vendors.filter((vendor) => vendor !== "disk");

/** The fields that a vendor fills in. */
export function presetOf(vendor: Vendor): Pick<Fields, "vendor" | "type" | "endpoint" | "region"> {
  const { type, region } = presets[vendor];
  return { vendor, type: type === "store_c" ? "store_c" : "store_b", endpoint: endpointIn(vendor, region), region };
}

export function initial(): Fields {
  return { ...presetOf("aws"), bucket: "", accessKeyId: "", hours: 1 };
}

/** Writes the fields as text. It copies each by its name, so that no other value gets into it. */
export function write({ vendor, type, endpoint, region, bucket, accessKeyId, hours }: Fields): string {
  return JSON.stringify({ vendor, type, endpoint, region, bucket, accessKeyId, hours } satisfies Fields);
}

/** Reads the text of `write`. Values that the form cannot have are replaced. */
export function read(text: string | null): Fields {
  let told: Partial<Record<keyof Fields, unknown>> = {};
  try {
    told = (JSON.parse(text ?? "{}") as typeof told | null) ?? {};
  } catch {
    // not written by `write`
  }
  const vendor = buckets.find((one) => one === told.vendor);
  if (!vendor) return initial();
  const preset = presetOf(vendor);
  const words = (value: unknown, otherwise = "") => (typeof value === "string" ? value : otherwise);
  const hours = Number(told.hours);
  return {
    vendor,
    type: told.type === "store_b" || told.type === "store_c" ? told.type : preset.type,
    endpoint: words(told.endpoint, preset.endpoint),
    region: words(told.region, preset.region),
    bucket: words(told.bucket),
    accessKeyId: words(told.accessKeyId),
    hours: Number.isInteger(hours) && hours >= 1 && hours <= longest ? hours : 1,
  };
}

const place = "larder.free";

export const remembered = (): Fields => read(sessionStorage.getItem(place));
export const remember = (fields: Fields): void => sessionStorage.setItem(place, write(fields));
export const forget = (): void => sessionStorage.removeItem(place);

/** Reports whether two connections lead to the same bucket. */
export function samePlace(a: Fields, b: Fields): boolean {
  return a.endpoint === b.endpoint && a.bucket === b.bucket;
}
