/** Tables as CSV files (RFC 4180), which spreadsheets open. */

/**
 * The text of a cell. Spreadsheets compute cells that begin with one of these characters (OWASP,
 * CSV Injection), so such a text gets an apostrophe.
 */
function cell(value: string | number | null): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value ?? "") ? `'${value}` : (value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A CSV file of a head and rows. Excel detects UTF-8 by the byte order mark at its beginning. */
export function csv(head: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  return `\ufeff${[head, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("")}`;
}
