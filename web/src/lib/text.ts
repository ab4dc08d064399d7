/** Decodes text files. */

/**
 * The text of a file, undefined for binary content. UTF-16 is recognized by its byte order mark,
 * UTF-8 by being well-formed, where the last character may be cut. Other bytes are decoded as
 * GB18030, the encoding of old Chinese text files.
 */
export function decode(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  if (bytes.subarray(0, 8192).includes(0)) return undefined;
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    decoder.decode(bytes, { stream: true }); // does not fail at a character that is cut at the end
  } catch {
    return new TextDecoder("gb18030").decode(bytes);
  }
  return new TextDecoder().decode(bytes); // with U+FFFD for a cut character
}
