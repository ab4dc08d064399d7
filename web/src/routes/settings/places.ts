/** The sections of the settings, in the order of their links. */
import { t, withTexts } from "../../lib/i18n.svelte";
import type { Place } from "../table";

const of = (name: keyof typeof t.settings.sections, load: Place["load"], settings: () => string[]): Place => ({
  name,
  title: () => t.settings.sections[name],
  who: "account",
  load,
  settings,
});

export const places: readonly Place[] = [
  of(
    "profile",
    () => withTexts(import("./Profile.svelte"), "panels", "settings"),
    () => [t.settings.name, t.settings.avatar, t.common.language, t.settings.folder, t.settings.links],
  ),
  of(
    "appearance",
    () => withTexts(import("./Appearance.svelte"), "panels", "settings"),
    () => [t.settings.theme, t.settings.accent, t.settings.blur],
  ),
  of(
    "security",
    () => withTexts(import("./Security.svelte"), "credentials", "settings"),
    () => [t.settings.email, t.settings.password, t.settings.sessions],
  ),
  of(
    "storage",
    () => withTexts(import("./Storage.svelte"), "settings"),
    () => [t.settings.storage, t.settings.byFolder],
  ),
];
