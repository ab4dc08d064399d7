/**
 * The messages of the UI. Their type comes from the Chinese messages, so a missing or superfluous
 * English message breaks the build.
 */
import type { Messages } from "../messages/zh-CN";

export const locales = ["zh-CN", "en-US"] as const;
export type Locale = (typeof locales)[number];

const load: Record<Locale, () => Promise<{ messages: Messages }>> = {
  "zh-CN": () => import("../messages/zh-CN"),
  "en-US": () => import("../messages/en-US"),
};

class Language {
  locale = $state<Locale>("en-US");
  // nothing is shown before `setLocale` has loaded them
  messages = $state.raw<Messages>(undefined as unknown as Messages);
}

const language = new Language();

/** All messages in the user's language: `t.files.upload`. Reactive. */
export const t = new Proxy({} as Messages, {
  get: (_, area: string) => language.messages[area as keyof Messages],
});

export function locale(): Locale {
  return language.locale;
}

/** Sets the language of the page. */
export async function setLocale(to: Locale): Promise<void> {
  const { messages } = await load[to]();
  language.locale = to;
  language.messages = messages;
  document.documentElement.lang = to;
}

/** The language that src/boot.js has set. */
export function initialLocale(): Locale {
  return document.documentElement.lang === "zh-CN" ? "zh-CN" : "en-US";
}

// Formats are slow to create, and each row that scrolls into view needs several.
const formats = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

function numbers(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  return kept(`n${language.locale}${JSON.stringify(options)}`, () => new Intl.NumberFormat(language.locale, options));
}

function times(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return kept(`t${language.locale}${JSON.stringify(options)}`, () => new Intl.DateTimeFormat(language.locale, options));
}

function kept<Format extends Intl.NumberFormat | Intl.DateTimeFormat>(key: string, make: () => Format): Format {
  let format = formats.get(key) as Format | undefined;
  if (!format) formats.set(key, (format = make()));
  return format;
}

/** A number in the format of the user's language. */
export function number(n: number): string {
  return numbers({}).format(n);
}

const units = ["B", "KB", "MB", "GB", "TB"];

/** A size in bytes, in powers of 1,024: 1.4 MB. */
export function size(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${numbers({ maximumFractionDigits: digits }).format(value)} ${units[unit]}`;
}

/** A time in ms as date and time of day, "" for null. */
export function dateTime(ms: number | null): string {
  return ms === null ? "" : times({ dateStyle: "medium", timeStyle: "short" }).format(ms);
}

/** A time in ms as a date, "" for null. */
export function date(ms: number | null): string {
  return ms === null ? "" : times({ dateStyle: "medium" }).format(ms);
}

/** A duration in ms, in its largest whole unit: "3 min". */
export function span(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  const [value, unit] =
    seconds < 60
      ? [seconds, "second"]
      : seconds < 3600
        ? [Math.round(seconds / 60), "minute"]
        : seconds < 86_400
          ? [Math.round(seconds / 3600), "hour"]
          : [Math.round(seconds / 86_400), "day"];
  return numbers({ style: "unit", unit: unit as string, unitDisplay: "short" }).format(value as number);
}
