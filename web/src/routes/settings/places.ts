/** The sections of the settings, in the order of their links. */
import type { Component } from "svelte";
import { t } from "../../lib/i18n.svelte";
import type { Place } from "../table";
import Appearance from "./Appearance.svelte";
import Profile from "./Profile.svelte";
import Security from "./Security.svelte";
import Storage from "./Storage.svelte";

const of = (name: keyof typeof t.settings.sections, screen: Component, settings: () => string[]): Place => ({
  name,
  title: () => t.settings.sections[name],
  who: "account",
  load: async () => ({ default: screen }),
  settings,
});

export const places: readonly Place[] = [
  of("profile", Profile, () => [
    t.settings.name,
    t.settings.avatar,
    t.common.language,
    t.settings.folder,
    t.settings.links,
  ]),
  of("appearance", Appearance, () => [t.settings.theme, t.settings.accent, t.settings.blur]),
  of("security", Security, () => [t.settings.email, t.settings.password, t.settings.sessions]),
  of("storage", Storage, () => [t.settings.storage, t.settings.byFolder]),
];
