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
