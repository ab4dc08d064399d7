import { expect, test } from "vitest";
import { pixelsOf, side } from "../src/lib/thumbhash";

/** The colour of a pixel. */
const at = (pixels: Uint8ClampedArray, x: number, y: number) =>
  Array.from(pixels.slice((y * side + x) * 4, (y * side + x) * 4 + 4));
const decode = (...bytes: number[]) => pixelsOf(Uint8Array.from(bytes))!;

test("without waves a picture has one colour", () => {
  // light 63/63, both differences 31/31.5 - 1 = -0.0159: blue 1.0106, red 0.9868, green 1.0026
  const white = decode(0xff, 0xf7, 0x01, 0x03, 0x00);
  expect(white).toHaveLength(side * side * 4);
  expect(at(white, 0, 0)).toEqual([252, 255, 255, 255]);
  expect(at(white, side - 1, side - 1)).toEqual([252, 255, 255, 255]);
  // light 0, yellow against blue 63/31.5 - 1 = 1, red against green -0.0159:
  // blue -0.6667, red 0.3254, green 0.3413
  expect(at(decode(0xc0, 0xff, 0x01, 0x03, 0x00), 3, 4)).toEqual([83, 87, 0, 255]);
});

test("the first wave of the light goes across, the third one down", () => {
  // light 32/63 with the scale 31/31; 3 waves across and 7 down; nibbles of 7 and 8 are almost none
  const rest = [0x87, 0x87, 0x87, 0x87, 0x87, 0x87, 0x87, 0x87, 0x87, 0x87, 0x87, 0x87, 0x87];
  const across = decode(0xe0, 0xf7, 0x7d, 0x03, 0x00, 0x8f, ...rest);
  expect(at(across, 0, 8)[0]).toBeGreaterThan(200);
  expect(at(across, side - 1, 8)[0]).toBeLessThan(55);
  const down = decode(0xe0, 0xf7, 0x7d, 0x03, 0x00, 0x87, 0x8f, ...rest);
  expect(at(down, 8, 0)[0]).toBeGreaterThan(200);
  expect(at(down, 8, side - 1)[0]).toBeLessThan(55);
});

test("a transparent picture has an opacity", () => {
  expect(at(decode(0xff, 0xf7, 0x81, 0x03, 0x00, 0x0f), 0, 0)).toEqual([252, 255, 255, 255]);
  expect(at(decode(0xff, 0xf7, 0x81, 0x03, 0x00, 0x03), 0, 0)[3]).toBe(51);
});

test("a damaged hash has no picture", () => {
  expect(pixelsOf(Uint8Array.from([1, 2, 3]))).toBeUndefined();
  expect(pixelsOf(Uint8Array.from([0, 0, 0x80, 0, 0]))).toBeUndefined();
});
