/** The limits of a quota as a form has them. */

export const units = ["B", "KB", "MB", "GB", "TB"] as const;
export type Unit = (typeof units)[number];

export interface Limit {
  mode: "keep" | "default" | "unlimited" | "limit";
  /** The text of the field. */
  amount: string;
  /** Of bytes; "" for a number of files. */
  unit: Unit | "";
}

const bytesOf = (unit: Unit | "") => (unit === "" ? 1 : 1024 ** units.indexOf(unit));

/** The form of a limit in bytes: in the largest unit in which it has at most two decimals. */
export function storageLimit(bytes: number): Limit {
  if (bytes < 0) return { mode: "unlimited", amount: "", unit: "GB" };
  if (bytes === 0) return { mode: "limit", amount: "0", unit: "GB" };
  const unit = units.findLast((one) => {
    const hundredths = (bytes / bytesOf(one)) * 100;
    return hundredths >= 100 && Number.isInteger(hundredths);
  })!;
  return { mode: "limit", amount: String(bytes / bytesOf(unit)), unit };
}

export function fileLimit(files: number): Limit {
  return files < 0 ? { mode: "unlimited", amount: "", unit: "" } : { mode: "limit", amount: String(files), unit: "" };
}

/** The number of bytes or files; -1 for unlimited, undefined for no change, NaN if it is wrong. */
export function valueOf({ mode, amount, unit }: Limit): number | undefined {
  if (mode === "unlimited") return -1;
  if (mode !== "limit") return undefined;
  const text = amount.trim().replace(",", ".");
  if (!(unit === "" || unit === "B" ? /^\d+$/ : /^(\d+\.?\d*|\.\d+)$/).test(text)) return NaN;
  const value = Math.round(Number(text) * bytesOf(unit));
  return value <= Number.MAX_SAFE_INTEGER ? value : NaN;
}
