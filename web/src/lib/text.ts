/** Text files: from bytes to what a person reads. */

/**
 * The text of a file, undefined for bytes that are none. UTF-8 is told by being well-formed, UTF-16 by its mark; what is neither is taken for GB18030,
 * which old Chinese text files are in.
 */
export function decode(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  if (bytes.subarray(0, 8192).includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("gb18030").decode(bytes);
  }
}
