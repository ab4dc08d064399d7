/**
 * The keyboard shortcuts of a folder. They are inactive while a field, a menu or a dialog has the
 * focus, and do not override the browser's own.
 */
import { may, parentOf, pathOf } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import { address, go } from "../../lib/router.svelte";
import { toastRefusal } from "../../lib/refused";
import { resting } from "../../lib/shortcut";
import { toast } from "../../lib/toasts.svelte";
import { views } from "../../lib/views.svelte";
import { commandList, opensCommands } from "../commandList.svelte";
import type { Browser } from "./browser.svelte";
import { cut } from "./cut.svelte";
import { pickUploads } from "./uploading";

export interface Keyed {
  browser: Browser;
  /** Reports whether an entry or nothing has the focus. */
  inGrid(): boolean;
  target(key: string): number | undefined;
  /** Opens the menu of the selection, or else of the folder. */
  menu(): void;
}

let typed = "";
let typedAt = 0;
const typingPause = 700; // ms

/** Handles a key. The browser gets the keys without an action. */
export function press(event: KeyboardEvent, on: Keyed): void {
  if (event.defaultPrevented || event.isComposing || resting(event.target as Element)) return;
  if (onButton(event)) return;
  if (everywhere(event, on) || withChosen(event, on) || (on.inGrid() && inGrid(event, on))) event.preventDefault();
}

/** Reports whether the key presses a button of an entry. */
function onButton({ key, target }: KeyboardEvent): boolean {
  return (key === "Enter" || key === " ") && (target as Element).matches("[data-copy], [data-more]");
}

function everywhere(event: KeyboardEvent, { browser }: Keyed): boolean {
  const control = event.ctrlKey || event.metaKey;
  const alone = !control && !event.altKey && views.keys;
  if (opensCommands(event)) commandList.open = true;
  else if (alone && event.key === "?") void browser.openPanel("shortcuts");
  else if (event.altKey && !control && event.code === "KeyU" && browser.uploads !== "")
    pickUploads(browser.uploads, { folder: false });
  else if (event.altKey && !control && event.code === "KeyN" && browser.writable) browser.creating = true;
  else if (event.altKey && !control && event.code === "KeyI") browser.details = !browser.details;
  else if (control && event.key.toLowerCase() === "v" && cut.into(browser.path) > 0 && browser.writable) paste(browser);
  else return false;
  return true;
}

/** Shortcuts for the selection, wherever the focus is: also on a button of the selection bar. */
function withChosen(event: KeyboardEvent, { browser, inGrid }: Keyed): boolean {
  const any = browser.selection.count > 0 || (inGrid() && browser.listing.total > 0);
  if (any && event.altKey && !event.ctrlKey && !event.metaKey && event.code === "KeyS") {
    void browser.star();
    return true;
  }
  if (!any || event.altKey) return false;
  if (event.ctrlKey || event.metaKey) return !event.shiftKey && command(event.key.toLowerCase(), browser);
  if (event.key === "Escape") browser.selection.none();
  else if (event.key === "F2") rename(browser);
  else if (event.key === "Delete") {
    if (browser.may("delete")) void (event.shiftKey ? browser.openPanel("delete") : browser.remove());
    else lacksDelete(browser);
  } else return false;
  return true;
}

function inGrid(event: KeyboardEvent, on: Keyed): boolean {
  const { browser } = on;
  const { selection } = browser;
  const control = event.ctrlKey || event.metaKey;
  if (event.altKey) return !control && reorder(event.key, browser);
  if (event.key === "Backspace" && !control) return up(browser);
  if ((event.key === "F10" && event.shiftKey) || event.key === "ContextMenu") {
    on.menu();
    return true;
  }
  if (browser.listing.total === 0) return false;

  // While a name is being typed, a space belongs to the name.
  const typing = event.timeStamp - typedAt < typingPause && typed !== "";
  const to = on.target(event.key);
  if (to !== undefined) move(to, event, browser);
  else if (event.key === " " && !(typing && !control)) selection.toggle(selection.active);
  else if (event.key === "Enter") browser.open(selection.active);
  else if (event.key.length === 1 && !control && views.keys) void jump(event, browser);
  else return false;
  return true;
}

function command(key: string, browser: Browser): boolean {
  const { selection } = browser;
  if (key === "a") selection.all(browser.listing.total);
  else if (key === "s") void browser.download();
  else if (key === "c" && getSelection()?.isCollapsed !== false) void browser.copyLinks();
  else if (key === "x") void cutChosen(browser);
  else return false;
  return true;
}

function move(to: number, event: KeyboardEvent, browser: Browser): void {
  const { selection } = browser;
  browser.focus(to);
  if (event.shiftKey) selection.extend(to, event.ctrlKey);
  else if (event.ctrlKey || event.metaKey) selection.moveTo(to);
  else selection.only(to);
}

function up(browser: Browser): boolean {
  if (browser.path === "/" || browser.collection) return false;
  go(address("/app/files", parentOf(browser.path)));
  return true;
}

function reorder(key: string, browser: Browser): boolean {
  const by = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (!by || !browser.byHand) return false;
  browser.nudge(by);
  return true;
}

export function rename(browser: Browser): void {
  const entry = browser.listing.at(browser.selection.active);
  if (!entry) return;
  if (entry.permissions.includes("update")) browser.renaming = entry.id;
  else toastRefusal("update", pathOf(entry));
}

/** Says that the selection has an entry that the user may not delete. */
function lacksDelete({ sample }: Browser): void {
  const refused = sample.find((entry) => !may(entry, "delete"));
  if (refused) toastRefusal("delete", pathOf(refused));
}

export async function cutChosen(browser: Browser): Promise<void> {
  if (!browser.may("delete")) return lacksDelete(browser);
  cut.entries = await browser.chosen();
  toast("ok", t.files.cutDone(cut.entries.length));
}

export function paste(browser: Browser): void {
  const entries = cut.entries.filter((entry) => entry.path !== browser.path);
  cut.entries = [];
  void browser.moveInto(browser.path, entries);
}

async function jump(event: KeyboardEvent, browser: Browser): Promise<void> {
  const { listing, selection } = browser;
  typed = event.timeStamp - typedAt < typingPause ? typed + event.key : event.key;
  typedAt = event.timeStamp;
  const text = typed;
  // Repeating one letter goes to the next name that begins with it.
  const next = text.length === 1 || [...text].every((letter) => letter === text[0]);
  const from = next ? selection.active + 1 : selection.active;
  const found = await listing.find(next ? text[0]! : text, from % listing.total).catch(() => -1);
  if (found < 0 || text !== typed || listing !== browser.listing) return;
  browser.focus(found);
  selection.only(found);
}
