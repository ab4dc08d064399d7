/** The sections of the administration, in the order of their links. */
import type { Component } from "svelte";
import { withTexts } from "../../lib/i18n.svelte";
import type { admin } from "../../messages/zh-CN/admin";

interface Section {
  /** The segment of the address after /app/admin/. */
  name: keyof (typeof admin)["common"]["sections"];
  load: () => Promise<{ default: Component }>;
}

export const sections: readonly Section[] = [
  { name: "dashboard", load: () => withTexts(import("./Dashboard.svelte"), "admin", "ui") },
  { name: "users", load: () => withTexts(import("./Users.svelte"), "admin", "credentials", "ui") },
  { name: "files", load: () => withTexts(import("./Files.svelte"), "admin", "panels", "ui") },
  { name: "shares", load: () => withTexts(import("./Shares.svelte"), "admin", "shares", "ui") },
  { name: "storage", load: () => withTexts(import("./Storage.svelte"), "admin", "stores", "ui") },
  { name: "mounts", load: () => withTexts(import("./Mounts.svelte"), "admin", "ui") },
  { name: "rules", load: () => withTexts(import("./Rules.svelte"), "admin", "panels", "ui") },
  { name: "announcements", load: () => withTexts(import("./Announcements.svelte"), "admin", "ui") },
  { name: "logs", load: () => withTexts(import("./Logs.svelte"), "admin", "ui") },
  { name: "system", load: () => withTexts(import("./System.svelte"), "admin", "ui") },
  { name: "site", load: () => withTexts(import("./Site.svelte"), "admin", "ui") },
];
