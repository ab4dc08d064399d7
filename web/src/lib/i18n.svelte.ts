/**
 * The messages of the UI. Their type comes from the Chinese messages, so a missing or superfluous
 * English message breaks the build.
 */
import { untrack } from "svelte";
import type { FirstMessages } from "../messages/zh-CN";
import type { admin } from "../messages/zh-CN/admin";
import type { changes } from "../messages/zh-CN/changes";
import type { credentials } from "../messages/zh-CN/credentials";
import type { errors } from "../messages/zh-CN/errors";
import type { explained } from "../messages/zh-CN/explained";
import type { free } from "../messages/zh-CN/free";
import type { keys } from "../messages/zh-CN/keys";
import type { notices } from "../messages/zh-CN/notices";
import type { panels } from "../messages/zh-CN/panels";
import type { past } from "../messages/zh-CN/past";
import type { received } from "../messages/zh-CN/received";
import type { settings } from "../messages/zh-CN/settings";
import type { searching } from "../messages/zh-CN/searching";
import type { share } from "../messages/zh-CN/share";
import type { shares } from "../messages/zh-CN/shares";
import type { photos } from "../messages/zh-CN/photos";
import type { places } from "../messages/zh-CN/places";
import type { stores } from "../messages/zh-CN/stores";
import type { trash } from "../messages/zh-CN/trash";
import type { ui } from "../messages/zh-CN/ui";
import type { upload } from "../messages/zh-CN/upload";
import type { versions } from "../messages/zh-CN/versions";
import type { viewer } from "../messages/zh-CN/viewer";
import type { welcome } from "../messages/zh-CN/welcome";

export const locales = ["zh-CN", "en-US"] as const;
export type Locale = (typeof locales)[number];

/** Texts that are loaded with the screens and panels that show them. */
interface LaterMessages {
  admin: typeof admin;
  changes: typeof changes;
  credentials: typeof credentials;
  errors: typeof errors;
  explained: typeof explained;
  free: typeof free;
  keys: typeof keys;
  notices: typeof notices;
  panels: typeof panels;
  past: typeof past;
  photos: typeof photos;
  received: typeof received;
  searching: typeof searching;
  settings: typeof settings;
  share: typeof share;
  shares: typeof shares;
  places: typeof places;
  stores: typeof stores;
  trash: typeof trash;
  ui: typeof ui;
  upload: typeof upload;
  versions: typeof versions;
  viewer: typeof viewer;
  welcome: typeof welcome;
}
export type Area = keyof LaterMessages;
type Messages = FirstMessages & LaterMessages;

const first: Record<Locale, () => Promise<{ messages: FirstMessages }>> = {
  "zh-CN": () => import("../messages/zh-CN"),
  "en-US": () => import("../messages/en-US"),
};
const later: { [A in Area]: Record<Locale, () => Promise<Pick<LaterMessages, A>>> } = {
  admin: { "zh-CN": () => import("../messages/zh-CN/admin"), "en-US": () => import("../messages/en-US/admin") },
  changes: { "zh-CN": () => import("../messages/zh-CN/changes"), "en-US": () => import("../messages/en-US/changes") },
  credentials: {
    "zh-CN": () => import("../messages/zh-CN/credentials"),
    "en-US": () => import("../messages/en-US/credentials"),
  },
  errors: { "zh-CN": () => import("../messages/zh-CN/errors"), "en-US": () => import("../messages/en-US/errors") },
  explained: {
    "zh-CN": () => import("../messages/zh-CN/explained"),
    "en-US": () => import("../messages/en-US/explained"),
  },
  free: { "zh-CN": () => import("../messages/zh-CN/free"), "en-US": () => import("../messages/en-US/free") },
  keys: { "zh-CN": () => import("../messages/zh-CN/keys"), "en-US": () => import("../messages/en-US/keys") },
  notices: { "zh-CN": () => import("../messages/zh-CN/notices"), "en-US": () => import("../messages/en-US/notices") },
  panels: { "zh-CN": () => import("../messages/zh-CN/panels"), "en-US": () => import("../messages/en-US/panels") },
  past: { "zh-CN": () => import("../messages/zh-CN/past"), "en-US": () => import("../messages/en-US/past") },
  photos: { "zh-CN": () => import("../messages/zh-CN/photos"), "en-US": () => import("../messages/en-US/photos") },
  received: {
    "zh-CN": () => import("../messages/zh-CN/received"),
    "en-US": () => import("../messages/en-US/received"),
  },
  searching: {
    "zh-CN": () => import("../messages/zh-CN/searching"),
    "en-US": () => import("../messages/en-US/searching"),
  },
  settings: {
    "zh-CN": () => import("../messages/zh-CN/settings"),
    "en-US": () => import("../messages/en-US/settings"),
  },
  share: { "zh-CN": () => import("../messages/zh-CN/share"), "en-US": () => import("../messages/en-US/share") },
  shares: { "zh-CN": () => import("../messages/zh-CN/shares"), "en-US": () => import("../messages/en-US/shares") },
  places: { "zh-CN": () => import("../messages/zh-CN/places"), "en-US": () => import("../messages/en-US/places") },
  stores: { "zh-CN": () => import("../messages/zh-CN/stores"), "en-US": () => import("../messages/en-US/stores") },
  trash: { "zh-CN": () => import("../messages/zh-CN/trash"), "en-US": () => import("../messages/en-US/trash") },
  ui: { "zh-CN": () => import("../messages/zh-CN/ui"), "en-US": () => import("../messages/en-US/ui") },
  upload: {
    "zh-CN": () => import("../messages/zh-CN/upload"),
    "en-US": () => import("../messages/en-US/upload"),
  },
  versions: {
    "zh-CN": () => import("../messages/zh-CN/versions"),
    "en-US": () => import("../messages/en-US/versions"),
  },
  viewer: { "zh-CN": () => import("../messages/zh-CN/viewer"), "en-US": () => import("../messages/en-US/viewer") },
  welcome: { "zh-CN": () => import("../messages/zh-CN/welcome"), "en-US": () => import("../messages/en-US/welcome") },
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

let wanted: Locale = "en-US";
const areas = new Set<Area>();

/** Sets the language of the page. */
export async function setLocale(to: Locale): Promise<void> {
  if (to === wanted && to === language.locale && language.messages) return;
  wanted = to;
  await load();
}

/** Loads the texts of all areas in the wanted language, and shows them when they are complete. */
async function load(): Promise<void> {
  const to = wanted;
  const parts = await Promise.all([
    first[to]().then(({ messages }) => messages),
    ...[...areas].map((area): Promise<Partial<LaterMessages>> => later[area][to]()),
  ]);
  if (to !== wanted) return; // the later call shows the texts
  language.locale = to;
  language.messages = Object.assign({}, language.messages, ...(parts as object[])) as Messages;
  document.documentElement.lang = to;
}

/**
 * Loads a module together with the texts that it and the modules it imports show. A module that
 * shows texts of such an area is imported in this way only (test/areas.test.ts).
 */
export async function withTexts<Module>(module: Promise<Module>, ...of: Area[]): Promise<Module> {
  const texts = async () => {
    for (const area of of) areas.add(area);
    // untracked: a caller within {#await} must not load the module anew with the texts of another
    const missing = () => of.some((area) => !untrack(() => language.messages[area]));
    while (missing()) await load();
  };
  const [loaded] = await Promise.all([module, texts()]);
  return loaded;
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

/** A time in ms as time of day. */
export function timeOfDay(ms: number): string {
  return times({ timeStyle: "short" }).format(ms);
}

/** A time in ms as a date, "" for null. */
export function date(ms: number | null): string {
  return ms === null ? "" : times({ dateStyle: "medium" }).format(ms);
}

/** A time in ms as a date in UTC: that of the camera where a picture does not state a zone. */
export function dateTaken(ms: number): string {
  return times({ dateStyle: "medium", timeZone: "UTC" }).format(ms);
}

/** The same with the time of day. */
export function dateTimeTaken(ms: number): string {
  return times({ dateStyle: "medium", timeStyle: "short", timeZone: "UTC" }).format(ms);
}

/** The name of a month such as 2025-07. */
export function monthName(month: string): string {
  return times({ year: "numeric", month: "long", timeZone: "UTC" }).format(Date.parse(month));
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
