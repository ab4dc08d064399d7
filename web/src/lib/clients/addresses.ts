/** Parses the list of addresses from which a key may be used. */

/** Splits a text at spaces, commas and new lines. */
export function listed(text: string): string[] {
  return text.split(/[\s,，;；、]+/).filter(Boolean);
}

/**
 * The first item that is neither an address nor a network, "" when all are valid. The service
 * checks more strictly.
 */
export function badAddress(list: readonly string[]): string {
  return list.find((one) => !isAddress(one)) ?? "";
}

function isAddress(text: string): boolean {
  const [address = "", bits, more] = text.split("/");
  if (more !== undefined || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return false;
  if (address.includes(":")) return /^[\da-fA-F:.]+$/.test(address) && Number(bits ?? 0) <= 128;
  const numbers = address.split(".");
  return (
    numbers.length === 4 && numbers.every((n) => /^\d{1,3}$/.test(n) && Number(n) <= 255) && Number(bits ?? 0) <= 32
  );
}
