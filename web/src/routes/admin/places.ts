/** The sections of the administration, in the order of their links. */
import type { Component } from "svelte";
import { t, withTexts } from "../../lib/i18n.svelte";
import type { admin } from "../../messages/zh-CN/admin";
import type { Place } from "../table";

const of = (
  name: keyof (typeof admin)["common"]["sections"],
  load: () => Promise<{ default: Component }>,
  settings: () => string[] = () => [],
): Place => ({
  name,
  title: () => t.admin.common.sections[name],
  who: "admin",
  load,
  settings,
});

export const places: readonly Place[] = [
  of("dashboard", () => withTexts(import("./Dashboard.svelte"), "admin", "ui")),
  of("users", () => withTexts(import("./Users.svelte"), "admin", "credentials", "ui")),
  of("files", () => withTexts(import("./Files.svelte"), "admin", "panels", "ui")),
  of("shares", () => withTexts(import("./Shares.svelte"), "admin", "shares", "ui")),
  of("storage", () => withTexts(import("./Storage.svelte"), "admin", "stores", "ui")),
  of("mounts", () => withTexts(import("./Mounts.svelte"), "admin", "ui")),
  of("rules", () => withTexts(import("./Rules.svelte"), "admin", "panels", "ui")),
  of("announcements", () => withTexts(import("./Announcements.svelte"), "admin", "ui")),
  of("logs", () => withTexts(import("./Logs.svelte"), "admin", "ui")),
  of("system", () => withTexts(import("./System.svelte"), "admin", "ui")),
  of(
    "site",
    () => withTexts(import("./Site.svelte"), "admin", "panels", "ui"),
    () => Object.values(t.admin.site.labels),
  ),
];
