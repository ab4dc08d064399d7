/**
 * Pictures from a ThumbHash (https://evanw.github.io/thumbhash/): the weights of a few cosine waves
 * for the light, two differences of colour, and the opacity.
 */

/** The width and the height of the picture in pixels. The page stretches it. */
export const side = 16;

/** The cosine waves of an edge, by frequency and pixel. */
const waves = Array.from({ length: 8 }, (_, frequency) =>
  Array.from({ length: side }, (_, at) => Math.cos((Math.PI / side) * (at + 0.5) * frequency)),
);

interface Wave {
  x: number;
  y: number;
  weight: number;
}

/** The RGBA bytes of a picture of `side` times `side` pixels; undefined for a damaged hash. */
export function pixelsOf(hash: Uint8Array): Uint8ClampedArray<ArrayBuffer> | undefined {
  if (hash.length < 5) return undefined;
  const head = hash[0]! | (hash[1]! << 8) | (hash[2]! << 16);
  const more = hash[3]! | (hash[4]! << 8);
  const opacity = head >> 23 === 1;
  if (opacity && hash.length < 6) return undefined;
  const longer = opacity ? 5 : 7;
  const shorter = Math.max(3, more & 7);
  const [columns, rows] = more >> 15 === 1 ? [longer, shorter] : [shorter, longer];

  let nibble = opacity ? 12 : 10;
  /** Reads the waves of a channel: those below the diagonal of the table of frequencies. */
  const channel = (columns: number, rows: number, scale: number): Wave[] => {
    const found: Wave[] = [];
    for (let y = 0; y < rows; y++) {
      for (let x = y === 0 ? 1 : 0; x * rows < columns * (rows - y); x++) {
        const value = ((hash[nibble >> 1] ?? 0) >> (nibble % 2 === 0 ? 0 : 4)) & 15;
        nibble++;
        found.push({ x, y, weight: (value / 7.5 - 1) * scale * 2 });
      }
    }
    return found;
  };
  const light = surface((head & 63) / 63, channel(columns, rows, ((head >> 18) & 31) / 31));
  const yellow = surface(((head >> 6) & 63) / 31.5 - 1, channel(3, 3, (((more >> 3) & 63) / 63) * 1.25));
  const red = surface(((head >> 12) & 63) / 31.5 - 1, channel(3, 3, (((more >> 9) & 63) / 63) * 1.25));
  const solid = opacity ? surface((hash[5]! & 15) / 15, channel(5, 5, (hash[5]! >> 4) / 15)) : undefined;

  const pixels = new Uint8ClampedArray(side * side * 4);
  for (let at = 0; at < side * side; at++) {
    const b = light[at]! - (2 / 3) * yellow[at]!;
    const r = (3 * light[at]! - b + red[at]!) / 2;
    pixels.set([r * 255, (r - red[at]!) * 255, b * 255, (solid ? solid[at]! : 1) * 255], at * 4);
  }
  return pixels;
}

/** The values of a channel at all pixels: its mean and its waves. */
function surface(mean: number, channel: readonly Wave[]): Float32Array {
  const values = new Float32Array(side * side).fill(mean);
  for (const { x, y, weight } of channel) {
    for (let at = 0; at < values.length; at++)
      values[at]! += weight * waves[x]![at % side]! * waves[y]![Math.floor(at / side)]!;
  }
  return values;
}

/**
 * Draws the picture of a ThumbHash in base64 on a canvas. A hash that is too short leaves it empty.
 */
export function drawHash(canvas: HTMLCanvasElement, base64: string): void {
  const pixels = pixelsOf(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
  if (!pixels) return;
  canvas.width = side;
  canvas.height = side;
  canvas.getContext("2d")?.putImageData(new ImageData(pixels, side, side), 0, 0);
}
