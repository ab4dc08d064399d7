/** QR codes as an SVG path: one square of side 1 for each dark module. */
import { encode } from "uqr";

export function qr(text: string): { path: string; size: number } {
  const { data, size } = encode(text, { ecc: "M", border: 2 });
  let path = "";
  data.forEach((row, y) => row.forEach((dark, x) => dark && (path += `M${x} ${y}h1v1h-1z`)));
  return { path, size };
}
