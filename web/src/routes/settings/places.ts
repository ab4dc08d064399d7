/** The sections of the settings, in the order of their links. */
import type { Component } from "svelte";
import { t } from "../../lib/i18n.svelte";
import type { Place } from "../table";
import Appearance from "./Appearance.svelte";
import Profile from "./Profile.svelte";
import Security from "./Security.svelte";
import Storage from "./Storage.svelte";

const of = (name: keyof typeof t.settings.sections, screen: Component): Place => ({
  name,
  title: () => t.settings.sections[name],
  who: "account",
  load: async () => ({ default: screen }),
});

export const places: readonly Place[] = [
  of("profile", Profile),
  of("appearance", Appearance),
  of("security", Security),
  of("storage", Storage),
];
