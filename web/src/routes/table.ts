/**
 * The places of the UI: one nested table of their addresses, titles, screens and readers, and of
 * their links in the navigation. The places of the administration and of the settings are loaded
 * with their screens.
 */
import type { Component } from "svelte";
import clock from "lucide:clock";
import folder from "lucide:folder";
import images from "lucide:images";
import keyRound from "lucide:key-round";
import share from "lucide:share-2";
import shield from "lucide:shield-check";
import star from "lucide:star";
import trash from "lucide:trash-2";
import { setUpMark } from "../lib/explained.svelte";
import { t, withTexts } from "../lib/i18n.svelte";
import { ownFiles } from "../lib/screens";
import { session } from "../lib/session.svelte";

/** The link of a place in the navigation. */
interface Link {
  /** Links of different groups have a gap between them. */
  group: "files" | "account";
  icon: string;
  label: () => string;
  /** The label in the narrow bar of phones, that of the place without it. */
  short?: () => string;
  /** It is in the bar of phones; the others are in the menu at its end. */
  phone: boolean;
  /** The address, if it is not that of the place. */
  href?: () => string;
  /** Whether the link is there; without it always. */
  when?: () => boolean;
  /** Why the link has a mark, "" for none. */
  mark?: () => string;
}

export interface Place {
  /** The segment of the address below that of the place above it. */
  name: string;
  /** The title of the document, where the screen does not set it. */
  title?: () => string;
  /** Who may open it: also visitors, accounts, or administrators. */
  who: "visitor" | "account" | "admin";
  load: () => Promise<{ default: Component }>;
  link?: Link;
  /** The labels of settings on the screen, by which the command list finds it. */
  settings?: () => readonly string[];
  /** The places that the screen contains. */
  below?: () => Promise<{ places: readonly Place[] }>;
}

export const places: readonly Place[] = [
  {
    name: "files", // visitors see public folders at its addresses
    who: "account",
    load: () => import("./Files.svelte"),
    link: {
      group: "files",
      icon: folder,
      label: () => t.shell.myFiles,
      short: () => t.shell.files,
      phone: true,
      href: ownFiles,
    },
  },
  {
    name: "photos",
    who: "account",
    load: () => withTexts(import("./Photos.svelte"), "photos"),
    link: { group: "files", icon: images, label: () => t.shell.photos, phone: true },
  },
  {
    name: "recent",
    who: "account",
    load: () => withTexts(import("./Recent.svelte"), "places"),
    link: { group: "files", icon: clock, label: () => t.shell.recent, phone: false },
  },
  {
    name: "favourites",
    who: "account",
    load: () => withTexts(import("./Favourites.svelte"), "places"),
    link: { group: "files", icon: star, label: () => t.shell.favourites, phone: false },
  },
  {
    name: "shares",
    title: () => t.shell.shares,
    who: "account",
    load: () => withTexts(import("./Shares.svelte"), "shares", "ui"),
    link: { group: "files", icon: share, label: () => t.shell.shares, phone: false },
  },
  {
    name: "trash",
    title: () => t.shell.trash,
    who: "account",
    load: () => withTexts(import("./Trash.svelte"), "panels", "trash", "ui"),
    link: {
      group: "files",
      icon: trash,
      label: () => t.shell.trash,
      phone: false,
      when: () => (session.me?.trashDays ?? 0) > 0,
    },
  },
  {
    name: "past",
    who: "account",
    load: () => withTexts(import("./Past.svelte"), "changes", "panels", "past", "trash", "ui"),
  },
  {
    name: "share-target", // the manifest names this address, see build/install.ts
    who: "account",
    load: () => withTexts(import("./ReceivedFiles.svelte"), "panels", "received"),
  },
  {
    name: "keys",
    title: () => t.shell.keys,
    who: "account",
    load: () => withTexts(import("./Keys.svelte"), "keys", "ui"),
    link: { group: "account", icon: keyRound, label: () => t.shell.keys, phone: false },
  },
  {
    name: "settings",
    title: () => t.shell.settings,
    who: "account",
    load: () => withTexts(import("./Settings.svelte"), "settings"),
    below: () => withTexts(import("./settings/places"), "settings"),
  },
  {
    name: "admin",
    title: () => t.shell.admin,
    who: "admin",
    load: () => withTexts(import("./Admin.svelte"), "admin"),
    link: {
      group: "account",
      icon: shield,
      label: () => t.shell.admin,
      phone: false,
      when: () => session.me?.profile.role === "admin",
      mark: setUpMark,
    },
    below: () => withTexts(import("./admin/places"), "admin"),
  },
  { name: "login", title: () => t.shell.signIn, who: "visitor", load: () => import("./Login.svelte") },
  {
    name: "register",
    who: "visitor",
    load: () => withTexts(import("./Register.svelte"), "credentials"),
  },
  { name: "forgot", who: "visitor", load: () => withTexts(import("./Forgot.svelte"), "credentials") },
  { name: "reset", who: "visitor", load: () => withTexts(import("./Reset.svelte"), "credentials") },
  {
    name: "free",
    who: "visitor",
    load: () => withTexts(import("./Free.svelte"), "free", "share", "stores"),
  },
];

/** The place that an address below /app names, undefined for none. */
export function placeAt(path: string, within = places, above = "/app"): Place | undefined {
  if (!path.startsWith(`${above}/`)) return undefined;
  const name = path.slice(above.length + 1).split("/")[0];
  return within.find((place) => place.name === name);
}

/** Whether the reader of the page may open a place. */
export function mayOpen({ who }: Place): boolean {
  return who === "visitor" || (session.me !== undefined && (who === "account" || session.me.profile.role === "admin"));
}

export interface NavigationLink {
  /** It is the first of its group, after another group. */
  apart: boolean;
  href: string;
  /** Where the addresses of the place begin. */
  below: string;
  label: string;
  short: string;
  icon: string;
  phone: boolean;
  mark: string;
}

/** The links of the navigation that the reader of the page may follow. */
export function navigation(): NavigationLink[] {
  let group: Link["group"] | undefined;
  return places.flatMap((place) => {
    const { link, name } = place;
    if (!link || !mayOpen(place) || link.when?.() === false) return [];
    const apart = group !== undefined && link.group !== group;
    group = link.group;
    const below = `/app/${name}`;
    const label = link.label();
    return {
      apart,
      href: link.href?.() ?? below,
      below,
      label,
      short: link.short?.() ?? label,
      icon: link.icon,
      phone: link.phone,
      mark: link.mark?.() ?? "",
    };
  });
}
