/** How a picture was taken, in the notation of photographers. */
import { number } from "./i18n.svelte";

/** Properties of a picture from its EXIF fields. */
export interface Exposure {
  /** Seconds. */
  exposureTime?: number | undefined;
  /** The F number. */
  aperture?: number | undefined;
  iso?: number | undefined;
  /** Millimetres. */
  focalLength?: number | undefined;
}

/** The exposure in one line, "" if the picture states none. */
export function exposureText({ exposureTime, aperture, iso, focalLength }: Exposure): string {
  const parts: string[] = [];
  // longer times are not written as fractions
  if (exposureTime)
    parts.push(`${exposureTime < 0.3 ? `1/${Math.round(1 / exposureTime)}` : number(round(exposureTime))} s`);
  if (aperture) parts.push(`f/${number(round(aperture))}`);
  if (iso) parts.push(`ISO ${iso}`);
  if (focalLength) parts.push(`${number(round(focalLength))} mm`);
  return parts.join(" · ");
}

const round = (value: number) => Math.round(value * 10) / 10;

/** Coordinates as maps take them: latitude and longitude in degrees, to a metre. */
export function coordinates(latitude: number, longitude: number): string {
  return `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`;
}

/** The number of pixels in millions, such as 12.2. */
export function megapixels(width: number, height: number): number {
  return round((width * height) / 1e6);
}
