/**
 * SHA-256 (FIPS 180-4) of data that comes in pieces. The browser's own takes all of it at once, and
 * does not exist on plain http.
 */

/** The first 32 bits of the fractional parts of a root of each of the first primes. */
function fractions(count: number, root: (prime: number) => number): Uint32Array {
  const found = new Uint32Array(count);
  let nth = 0;
  for (let number = 2; nth < count; number++) {
    let prime = true;
    for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) prime = false;
    if (prime) found[nth++] = (root(number) % 1) * 2 ** 32;
  }
  return found;
}

const constants = fractions(64, Math.cbrt);
const start = fractions(8, Math.sqrt);

export class Sha256 {
  #state = start.slice();
  #schedule = new Uint32Array(64);
  /** The bytes that do not fill a block yet. */
  #rest = new Uint8Array(64);
  #length = 0; // bytes

  update(bytes: Uint8Array): void {
    let at = 0;
    const filled = this.#length % 64;
    this.#length += bytes.length;
    if (filled > 0) {
      at = Math.min(64 - filled, bytes.length);
      this.#rest.set(bytes.subarray(0, at), filled);
      if (filled + at < 64) return;
      this.#block(new DataView(this.#rest.buffer), 0);
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (; at + 64 <= bytes.length; at += 64) this.#block(view, at);
    this.#rest.set(bytes.subarray(at));
  }

  /** The sum in hexadecimal. Nothing can be added afterwards. */
  hex(): string {
    const length = this.#length;
    const padding = new Uint8Array(((119 - (length % 64)) % 64) + 9);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(length / 2 ** 29));
    view.setUint32(padding.length - 4, (length % 2 ** 29) * 8);
    this.update(padding);
    return Array.from(this.#state, (word) => word.toString(16).padStart(8, "0")).join("");
  }

  #block(view: DataView, at: number): void {
    const w = this.#schedule;
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [x, y] = [w[i - 15]!, w[i - 2]!];
      const before = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const after = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = w[i - 16]! + before + w[i - 7]! + after;
    }
    const s = this.#state;
    let a = s[0]!;
    let b = s[1]!;
    let c = s[2]!;
    let d = s[3]!;
    let e = s[4]!;
    let f = s[5]!;
    let g = s[6]!;
    let h = s[7]!;
    for (let i = 0; i < 64; i++) {
      const mixE = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const one = (h + mixE + ((e & f) ^ (~e & g)) + constants[i]! + w[i]!) | 0;
      const mixA = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const two = (mixA + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) s[i] = s[i]! + word;
  }
}

/** Bytes that are read and hashed at once: about a frame's worth of time. */
const piece = 2 * 1024 * 1024;

/**
 * The SHA-256 of a file in hexadecimal. Rejects with the signal's reason, and if the file cannot be
 * read.
 */
export async function sha256Of(file: Blob, signal?: AbortSignal): Promise<string> {
  const sum = new Sha256();
  for (let at = 0; at < file.size; at += piece) {
    sum.update(new Uint8Array(await file.slice(at, at + piece).arrayBuffer()));
    signal?.throwIfAborted();
  }
  return sum.hex();
}
