/**
 * The look of the page: theme, accent, blur. The browser stores it for the next start
 * (src/boot.js), and so does the account.
 */
import { accent, type Scheme } from "./color";
import { initialLocale, locale, setLocale, type Locale } from "./i18n.svelte";

export const themes = ["light", "dark", "system"] as const;
export type Theme = (typeof themes)[number];
export const defaultAccent = "#3b6cf6";

interface Kept {
  theme?: Theme;
  accentColor?: string;
  accent?: Record<Scheme, Record<string, string>>;
  blur?: boolean;
  locale?: Locale;
}

const key = "larder.look";

function kept(): Kept {
  try {
    return (JSON.parse(localStorage.getItem(key) ?? "{}") as Kept | null) ?? {};
  } catch {
    return {};
  }
}

class Look {
  theme = $state<Theme>("system");
  /** The accent of the account. */
  accent = $state(defaultAccent);
  /** The accent of the site, which a page without an account shows; "" for none. */
  site = $state("");
  blur = $state(true);

  /** The accent that the page shows. */
  get shown(): string {
    return this.site || this.accent;
  }
}

export const look = new Look();

const dark = matchMedia("(prefers-color-scheme: dark)");

function show(): void {
  const root = document.documentElement;
  const scheme: Scheme = look.theme === "system" ? (dark.matches ? "dark" : "light") : look.theme;
  root.dataset.theme = scheme;
  root.dataset.blur = look.blur ? "on" : "off";
  const own = { light: accent(look.accent, "light"), dark: accent(look.accent, "dark") };
  const shown = look.site ? accent(look.site, scheme) : own[scheme];
  for (const [name, value] of Object.entries(shown)) root.style.setProperty(name, value);
  // The browser colours the bars of the installed app's window by these tags.
  const canvas = getComputedStyle(root).getPropertyValue("--canvas");
  for (const bar of document.querySelectorAll('meta[name="theme-color"]')) bar.setAttribute("content", canvas);
  const keep: Kept = {
    theme: look.theme,
    accentColor: look.accent,
    accent: own,
    blur: look.blur,
    locale: locale(),
  };
  try {
    localStorage.setItem(key, JSON.stringify(keep));
  } catch {
    // without storage, the next start begins with the default look
  }
}

/**
 * Changes the look, and stores it for the next start. `ofSite` chooses between the accent of the
 * site, which is not stored, and that of the account.
 */
export async function setLook(to: {
  ofSite?: boolean;
  theme?: string;
  accentColor?: string;
  enableBlur?: boolean;
  locale?: string;
}): Promise<void> {
  if (to.theme === "light" || to.theme === "dark" || to.theme === "system") look.theme = to.theme;
  if (to.accentColor && /^#[0-9a-f]{6}$/i.test(to.accentColor)) look.accent = to.accentColor;
  if (to.ofSite !== undefined) look.site = to.ofSite ? siteAccent() : "";
  if (to.enableBlur !== undefined) look.blur = to.enableBlur;
  if (to.locale) await setLocale(to.locale === "zh-CN" ? "zh-CN" : "en-US");
  show();
}

/** The accent of the site, which the server writes into the page; "" for none. */
const siteAccent = (): string => document.documentElement.dataset.accent ?? "";

/** Applies the stored look, with `ofSite` in the accent of the site. */
export async function startLook(ofSite = false): Promise<void> {
  const last = kept();
  look.theme = last.theme ?? "system";
  look.accent = last.accentColor ?? defaultAccent;
  look.blur = last.blur ?? true;
  look.site = ofSite ? siteAccent() : "";
  dark.addEventListener("change", show);
  await setLocale(initialLocale());
  show();
}
