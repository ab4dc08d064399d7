/** The groups of the command list: the usual ones, and those that a text finds. */
import clock from "lucide:history";
import eraser from "lucide:eraser";
import magnifier from "lucide:search";
import settings from "lucide:settings";
import sliders from "lucide:sliders-horizontal";
import { accountItems } from "../../lib/choices";
import { pathOf, type Entry } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import { forgetSearches, lastSearches } from "../../lib/lastSearches";
import { address, go } from "../../lib/router.svelte";
import { ownFiles } from "../../lib/screens";
import { changeSearch, filterNames } from "../../lib/search";
import { session } from "../../lib/session.svelte";
import { actionsOf, type MenuAction, type MenuItem } from "../../lib/ui/menu";
import { displayItems, itemsOf, makingItems, usualItems, wholeItems } from "../files/menu";
import type { Browser } from "../files/browser.svelte";
import { navigation } from "../table";
import { best } from "./best";
import { describe } from "./describe";
import type { Entries } from "./found.svelte";

export interface Option extends MenuAction {
  /** The location of the target: a folder, or the screen of a setting. */
  meta?: string;
  entry?: Entry;
  /** It leads to a search for the text. */
  search?: boolean;
  /** The list stays open. */
  stays?: boolean;
}

export interface Group {
  title: string;
  options: Option[];
}

/** The most actions, and the most pages and settings, that a text finds. */
const most = 5;

const enabled = (items: readonly MenuItem[]) => actionsOf(items).filter(({ disabled }) => !disabled);

/** The actions of the entries on the screen. */
function actionsHere(browser: Browser | undefined): Group[] {
  if (!browser) return [];
  const filters: MenuAction[] = browser.source.can.search
    ? [{ label: t.searching.withFilters, icon: sliders, run: () => browser.focusSearch() }]
    : [];
  return [
    { title: t.files.forChosen, options: browser.selection.count > 0 ? enabled(itemsOf(browser)) : [] },
    { title: t.files.folder, options: enabled([...makingItems(browser), ...wholeItems(browser), ...filters]) },
    { title: t.files.display, options: enabled([...displayItems(browser), ...usualItems(browser)]) },
  ];
}

const pages = (): Option[] => navigation().map(({ href, label, icon }) => ({ label, icon, run: () => go(href) }));

const ofAccount = (): Group => ({ title: t.shell.account, options: enabled(accountItems()) });

function last(): Option[] {
  const { id } = session.me!.profile;
  const searches = lastSearches(id).map((search): Option => {
    const { path, query } = search;
    return { ...describe(search), icon: clock, run: () => go(`${address("/app/files", path)}?${query}`) };
  });
  if (searches.length === 0) return [];
  return [...searches, { label: t.searching.forget, icon: eraser, stays: true, run: () => forgetSearches(id) }];
}

/** The groups without a text. */
export function usualGroups(browser: Browser | undefined): Group[] {
  return [
    { title: t.searching.last, options: last() },
    ...actionsHere(browser),
    { title: t.searching.go, options: pages() },
    ofAccount(),
  ];
}

/**
 * Searches for a text: in the address of the folder on the screen if that is `here`, else in the
 * address of the account's own files.
 */
function search(text: string, here: boolean, everywhere: boolean): void {
  if (!here) return go(`${ownFiles()}?${new URLSearchParams({ search: text, in: "all" })}`);
  const without = Object.fromEntries([...filterNames, "shape"].map((name) => [name, null]));
  changeSearch({ ...without, search: text, in: everywhere ? "all" : null });
}

function searches(browser: Browser | undefined, text: string): Option[] {
  const here = browser !== undefined && !browser.collection;
  const options: Option[] = [
    { label: t.searching.everywhereFor(text), icon: magnifier, search: true, run: () => search(text, here, true) },
  ];
  if (here && browser.path !== "/")
    options.push({
      label: t.searching.hereFor(text),
      icon: magnifier,
      search: true,
      run: () => search(text, here, false),
    });
  return options;
}

function entries(of: readonly Entry[]): Option[] {
  return of.map((entry) => ({
    label: entry.name,
    meta: entry.path,
    entry,
    run: () =>
      go(
        entry.type === "folder"
          ? address("/app/files", pathOf(entry))
          : `${address("/app/files", entry.path)}?view=${encodeURIComponent(entry.id)}`,
      ),
  }));
}

/** The groups for a text. The entries come last: they arrive later, and move no other option. */
export function foundGroups(
  browser: Browser | undefined,
  text: string,
  sections: readonly Option[],
  found: Entries,
): Group[] {
  const actions = [...actionsHere(browser), ofAccount()].flatMap(({ title, options }) =>
    options.map((option) => ({ option, title })),
  );
  const ways = [...pages(), ...sections.map((section) => ({ icon: settings, ...section }))];
  return [
    {
      title: t.searching.actions,
      options: best(actions, text, ({ option, title }) => [option.label, title], most).map(({ option }) => option),
    },
    { title: t.searching.go, options: best(ways, text, ({ label, meta }) => [label, meta ?? ""], most) },
    { title: t.searching.search, options: searches(browser, text) },
    { title: t.searching.folders, options: entries(found.folders) },
    { title: t.searching.files, options: entries(found.files) },
  ];
}
