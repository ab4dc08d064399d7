/**
 * Colours: sRGB and OKLCH (Björn Ottosson, "A perceptual color space for image processing", 2020),
 * contrast by WCAG 2.2, and the search that makes any accent readable.
 */

/** Red, green, blue from 0 to 1, as in a hex colour. */
export type RGB = readonly [number, number, number];

export function parse(hex: string): RGB {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255) as unknown as RGB;
}

export function format(color: RGB): string {
  const byte = (value: number) =>
    Math.round(Math.min(1, Math.max(0, value)) * 255)
      .toString(16)
      .padStart(2, "0");
  return `#${color.map(byte).join("")}`;
}

const linear = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const gamma = (value: number) => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);

/** Relative luminance, 0 to 1. */
export function luminance([r, g, b]: RGB): number {
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** The contrast ratio of two colours, 1 to 21. */
export function contrast(a: RGB, b: RGB): number {
  return ratio(luminance(a), luminance(b));
}

const ratio = (x: number, y: number) => (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);

/** Lightness 0 to 1, chroma, hue in radians. */
interface LCH {
  l: number;
  c: number;
  h: number;
}

function toLCH(color: RGB): LCH {
  const [r, g, b] = color.map(linear) as unknown as RGB;
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  const a = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
  const bb = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
  return { l: 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, c: Math.hypot(a, bb), h: Math.atan2(bb, a) };
}

function fromLCH({ l, c, h }: LCH): RGB {
  const [a, b] = [c * Math.cos(h), c * Math.sin(h)];
  const x = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const y = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const z = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z),
    gamma(-1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z),
    gamma(-0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z),
  ];
}

const shown = (color: RGB) => color.every((value) => value > -1e-4 && value < 1 + 1e-4);

/** The colour of this lightness, with as much of its chroma as a screen can show. */
function at(lightness: number, { c, h }: LCH): RGB {
  const whole = fromLCH({ l: lightness, c, h });
  if (shown(whole)) return whole;
  let [low, high] = [0, c];
  for (let i = 0; i < 20; i++) {
    const middle = (low + high) / 2;
    if (shown(fromLCH({ l: lightness, c: middle, h }))) low = middle;
    else high = middle;
  }
  return fromLCH({ l: lightness, c: low, h });
}

/** Backgrounds of accents, by theme. Equal to those of app.css. */
export const surfaces = {
  light: ["#f7f8fa", "#ffffff", "#eef0f4"],
  dark: ["#111318", "#181b21", "#0c0e12", "#20242c"],
} as const;

export type Scheme = keyof typeof surfaces;

/** Backgrounds of selected items contain this share of the accent. Equal to app.css. */
const tint = { of: { light: "#ffffff", dark: "#181b21" }, share: 0.12 } as const;

/**
 * The least contrast of accents: text on every surface, text on selected items, fills on every
 * surface, text on fills.
 */
export const floors = { text: 4.6, chosen: 4.5, fill: 3.05, on: 4.5 };

const inks = ["#ffffff", "#111318"] as const;

/** The background of a selected item, for the fill colour of an accent. */
export function chosen(fill: RGB, scheme: Scheme): RGB {
  const surface = parse(tint.of[scheme]);
  return fill.map((value, i) => value * tint.share + surface[i]! * (1 - tint.share)) as unknown as RGB;
}

/** The CSS variables of an accent in a theme. */
export function accent(hex: string, scheme: Scheme): Record<"--accent" | "--accent-text" | "--on-accent", string> {
  const base = toLCH(parse(hex));
  const behind = surfaces[scheme].map((hex) => luminance(parse(hex)));
  const step = scheme === "light" ? -0.005 : 0.005;
  const walk = (good: (color: RGB) => boolean): string => {
    for (let l = base.l; l > -0.01 && l < 1.01; l += step) {
      const color = parse(format(at(l, base))); // rounded, as the screen shows it
      if (good(color)) return format(color);
    }
    return scheme === "light" ? "#000000" : "#ffffff";
  };
  const stands = (floor: number) => (color: RGB) => {
    const own = luminance(color);
    return behind.every((surface) => ratio(own, surface) >= floor);
  };
  const ink = (color: RGB) => inks.find((hex) => contrast(parse(hex), color) >= floors.on);
  const fill = walk((color) => stands(floors.fill)(color) && ink(color) !== undefined);
  const ground = chosen(parse(fill), scheme);
  const text = walk((color) => stands(floors.text)(color) && contrast(color, ground) >= floors.chosen);
  return { "--accent": fill, "--accent-text": text, "--on-accent": ink(parse(fill)) ?? inks[0] };
}
