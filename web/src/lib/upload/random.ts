/** Random ids. The first screen needs them, and nothing else of an upload. */

/** A random id. crypto.randomUUID does not exist on plain http. */
export function random(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
