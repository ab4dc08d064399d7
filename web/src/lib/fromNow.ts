import { locale } from "./i18n.svelte";

/** A time relative to now in its largest whole unit: "in 3 days". */
export function fromNow(ms: number, now = Date.now()): string {
  const seconds = Math.round((ms - now) / 1000);
  const distance = Math.abs(seconds);
  const [value, unit] =
    distance < 3600
      ? [seconds / 60, "minute" as const]
      : distance < 172_800
        ? [seconds / 3600, "hour" as const]
        : [seconds / 86_400, "day" as const];
  return new Intl.RelativeTimeFormat(locale()).format(Math.round(value) || (ms < now ? -1 : 1), unit);
}
