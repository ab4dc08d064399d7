/** Times in the format of a field for a local time: YYYY-MM-DDThh:mm in the reader's time zone. */

/** The text of a time in ms; "" for undefined. */
export function fieldTime(ms: number | undefined): string {
  if (ms === undefined) return "";
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The time of a text in ms; undefined for none. */
export function timeOf(text: string): number | undefined {
  const ms = new Date(text).getTime();
  return text === "" || Number.isNaN(ms) ? undefined : ms;
}

/**
 * The beginning in ms of the day YYYY-MM-DD, or of the day that is some days later, in the reader's
 * time zone or, with "Z", in UTC; undefined for no day.
 */
export function beginOf(day: string, later = 0, zone: "" | "Z" = ""): number | undefined {
  const begin = timeOf(`${day}T00:00${zone}`);
  if (begin === undefined) return undefined;
  const date = new Date(begin);
  return zone === "Z" ? date.setUTCDate(date.getUTCDate() + later) : date.setDate(date.getDate() + later);
}
