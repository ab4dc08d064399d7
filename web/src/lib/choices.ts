/** Menu items for language, theme and account. */
import download from "lucide:download";
import logOut from "lucide:log-out";
import settings from "lucide:settings";
import { explain } from "./entry";
import { install } from "./install.svelte";
import { locale, locales, t, type Locale } from "./i18n.svelte";
import { go } from "./router.svelte";
import { look, setLook, themes, type Theme } from "./look.svelte";
import { keepLook, signOut } from "./session.svelte";
import { toast } from "./toasts.svelte";
import type { MenuItem } from "./ui/menu";

export const languageNames: Record<Locale, string> = { "zh-CN": "简体中文", "en-US": "English" };

/** Shows a theme or a language, and stores it in the account, if necessary with the next page. */
export function changeLook(to: { theme?: Theme; locale?: Locale }): void {
  void setLook(to);
  void keepLook(to).catch(() => undefined);
}

export function languageItems(): MenuItem[] {
  return locales.map((name) => ({
    label: languageNames[name],
    checked: locale() === name,
    run: () => changeLook({ locale: name }),
  }));
}

export function themeItems(): MenuItem[] {
  return themes.map((name) => ({
    label: t.common.themes[name],
    checked: look.theme === name,
    run: () => changeLook({ theme: name }),
  }));
}

/** Items of the account menu. */
export function accountItems(): MenuItem[] {
  return [
    { label: t.shell.settings, icon: settings, run: () => go("/app/settings/profile") },
    ...(install.offer ? [{ label: t.shell.install, icon: download, run: install.ask }] : []),
    "-",
    ...languageItems(),
    "-",
    ...themeItems(),
    "-",
    { label: t.shell.signOut, icon: logOut, run: () => void leave() },
  ];
}

async function leave(): Promise<void> {
  try {
    await signOut();
  } catch (cause) {
    toast("error", explain(cause));
  }
}
