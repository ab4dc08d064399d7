/** The state of one folder on the screen: its listing, the selection, and the actions on it. */
import { tick, type Component, type Snippet } from "svelte";
import { client, Failure, take } from "../../lib/api";
import { explain, may, pathOf, type Entry, type Permission } from "../../lib/entry";
import { t, withTexts } from "../../lib/i18n.svelte";
import { copyLinks } from "../../lib/copying.svelte";
import { later } from "../../lib/later.svelte";
import { Listing } from "../../lib/listing.svelte";
import { each, of } from "../../lib/ranges";
import { toastRefusal } from "../../lib/refused";
import { address, go, goQuery, route } from "../../lib/router.svelte";
import { changeSearch, hasSearch, searchOf } from "../../lib/search";
import { Selection } from "../../lib/selection.svelte";
import { session } from "../../lib/session.svelte";
import { account } from "../../lib/source/account";
import type { Media, Order, Sort, Source } from "../../lib/source/source";
import type { Month, Timeline } from "../../lib/timeline";
import { toast } from "../../lib/toasts.svelte";
import { views, type View } from "../../lib/views.svelte";
import type { Place } from "../../lib/back";

/** A search and its scope, or the part of a timeline. */
export interface Search {
  text: string;
  /** Its filters, see Wanted. */
  filter: string;
  /** The view of its results. */
  shape?: View["shape"] | undefined;
  everywhere: boolean;
  media?: Media | undefined;
}

/** The panels above the listing. */
export type Panel = "move" | "copy" | "delete" | "appearance" | "password" | "links" | "share" | "shortcuts";

/** The largest selection whose entries are handled one by one. */
const fewEnough = 2000;

/** Codes after which a folder cannot be shown any more. */
export const gone = ["NOT_FOUND", "FORBIDDEN", "PASSWORD_REQUIRED"];

/** Entries of different folders on one screen. */
export interface Collection {
  source: Source;
  title: string;
  /** The title and the text of a screen without entries. */
  empty: string;
  help: string;
  /** The target folder of uploads; "" or undefined if the page takes no uploads. */
  readonly uploads?: string;
  /** A choice of the entries, in the toolbar. */
  choice?: Snippet;
  gallery?: Gallery;
}

/** The parts of a screen of pictures, which are loaded with it. */
export interface Gallery {
  arrange: (months: readonly Month[], width: number, tile: View["tile"]) => Timeline;
  Cell: Component<{ browser: Browser; index: number; width: number; height: number }>;
  Heading: Component<{ browser: Browser; layout: Timeline; month: number }>;
  Scrubber: Component<{
    layout: Timeline;
    /** Pixels of the full canvas that are above the window. */
    full: number;
    /** The height of the toolbar in pixels. */
    above: number;
    viewport: number;
    go: (full: number) => void;
  }>;
}

const searches = ({ text, filter }: Search) => text + filter !== "";

export class Browser {
  /** The path of the folder; of a collection, its name, which is the path of no folder. */
  readonly path: string;
  readonly collection: Collection | undefined;
  readonly source: Source;
  readonly selection = new Selection();
  listing = $state.raw() as Listing;
  /** The search whose results the listing holds; without text and filter, the folder itself. */
  search = $state.raw() as Search;
  #next: Listing | undefined;
  #wanted: Search;
  /** The id of the entry that is being renamed. */
  renaming = $state("");
  creating = $state(false);
  /** Entries are being dragged. */
  dragging = $state(false);
  panel = $state.raw<{ name: Panel; entries: Entry[] }>();
  /** A file whose download needs a password; the dialog is open. */
  locked = $state.raw<Entry>();
  /** The dialog for the password of this folder is open. */
  unlocking = $state(false);
  details = $state(false);
  /** The entry of the details pane: the selected entry, or else the folder. */
  readonly detailed = $derived.by(() => {
    if (!this.details) return undefined;
    return (this.selection.count === 0 && this.listing.folder) || this.listing.at(this.selection.active);
  });
  /** Focuses an entry, and scrolls it into view unless told otherwise; set by the grid. */
  focus: (index: number, how?: { reveal?: boolean }) => void = () => undefined;
  /** The height of the toolbar in pixels; set by the toolbar. */
  toolbar = $state(61);
  /** Shows and focuses the search field with its filters; set by the toolbar. */
  focusSearch: () => void = () => undefined;

  readonly view: View = $derived.by(() => views.of(this.path));
  readonly searching = $derived.by(() => searches(this.search));
  /** The order of the listing: the user's choice, or else that of the mount. */
  readonly sort = $derived((this.view.sort ?? this.listing.mount?.sortBy ?? "name") as Sort);
  readonly order: Order = $derived(
    this.view.sort ? (this.view.order ?? "asc") : (this.listing.mount?.sortOrder ?? "asc"),
  );
  readonly shape = $derived.by(() =>
    this.searching ? this.search.shape! : this.collection?.gallery ? "grid" : this.view.shape,
  );
  readonly writable = $derived.by(() => {
    const { folder, failed } = this.listing;
    return folder !== null && !failed && may(folder, "write");
  });
  /** The folder that uploads go to, "" where there are none. */
  readonly uploads = $derived.by(() => (this.writable ? this.path : (this.collection?.uploads ?? "")));
  /** The order is manual, and the user may change it here. */
  readonly byHand = $derived.by(() => this.sort === "manual" && !this.searching);
  /** The selected entries that are loaded, 200 at most. */
  readonly sample: Entry[] = $derived.by(() => {
    const found: Entry[] = [];
    for (const index of each(this.selection.chosen)) {
      const entry = this.listing.at(index);
      if (entry) found.push(entry);
      if (found.length >= 200) break;
    }
    return found;
  });

  constructor(path: string, search: Search, collection?: Collection) {
    this.path = path;
    this.collection = collection;
    this.source = collection?.source ?? account;
    this.search = search;
    this.#wanted = search;
    this.listing = this.#ask(search);
  }

  close(): void {
    this.listing.close();
    this.#next?.close();
  }

  #ask(search: Search): Listing {
    const { sort, order } = views.of(this.path);
    const path = search.everywhere && searches(search) ? "/" : this.path;
    const { text, filter, media } = search;
    const listing = new Listing(this.source, { path, sort, order, search: text, filter, media });
    const { selection } = this;
    listing.held = () =>
      selection.count <= fewEnough ? [...selection.chosen, [selection.active, selection.active + 1]] : [];
    listing.around = (apply) => (listing === this.listing ? this.#keepChosen(apply) : apply());
    return listing;
  }

  /**
   * Makes the selection stay with its entries while the listing changes. It stays as it is, with
   * entries that are not loaded, while the length of the listing and the ends of each range are the
   * same.
   */
  #keepChosen(change: () => void): void {
    const { listing, selection } = this;
    const { total } = listing;
    const ends = () => selection.chosen.flatMap(([from, to]) => [listing.at(from)?.id, listing.at(to - 1)?.id]);
    const before = ends();
    const chosen =
      selection.count <= fewEnough ? [...each(selection.chosen)].map((index) => listing.at(index)?.id) : [];
    const active = listing.at(selection.active)?.id;
    change();
    if (before.length > 0 && listing.total === total && before.every((id, nth) => id && id === ends()[nth])) return;
    const found = chosen.map((id) => (id ? listing.indexOf(id) : -1)).filter((index) => index >= 0);
    const at = active ? listing.indexOf(active) : -1;
    selection.set(of(found), at >= 0 ? at : Math.max(0, Math.min(selection.active, listing.total - 1)));
  }

  /** Applies a search if it is a different one, and leads to a place in its results. */
  follow(search: Search, place?: Place): void {
    const { text, filter, everywhere, media } = this.#wanted;
    this.#wanted = search;
    if (search.text !== text || search.filter !== filter || search.everywhere !== everywhere || search.media !== media)
      void this.reopen(place);
    else if (!this.#next) this.search = search; // another view of the same results
  }

  /**
   * Loads the listing again, for another order or search. The old listing stays visible until the
   * new one has loaded.
   */
  async reopen(place?: Place): Promise<void> {
    this.#next?.close();
    const next = this.#ask(this.#wanted);
    this.#next = next;
    await next.ready;
    if (this.#next !== next) return;
    this.#next = undefined;
    this.listing.close();
    this.search = this.#wanted;
    this.selection.set([], place?.active ?? 0);
    this.listing = next;
    await tick();
    window.scrollTo({ top: place?.scroll ?? 0, behavior: "instant" });
    await this.refocus({ reveal: !place });
  }

  /** Focuses an entry, or else the page, if the focused element is gone. */
  async refocus(how?: { reveal?: boolean }): Promise<void> {
    await tick();
    const at = document.activeElement;
    if (at && at !== document.body && at.id !== "content") return;
    const { total } = this.listing;
    if (total > 0) this.focus(Math.min(this.selection.active, total - 1), how);
    else document.getElementById("content")?.focus();
  }

  /** The query of the search that was kept last, which stays away after the user has cleared it. */
  #kept = "";

  /** Keeps the search of the address for the command list, if it has found something. */
  async keepSearch(): Promise<void> {
    const { me } = session;
    if (!me || !this.searching || this.#next || this.listing.total === 0 || !hasSearch(route.query)) return;
    const search = { path: this.path, query: searchOf(route.query) };
    if (search.query === this.#kept) return;
    this.#kept = search.query;
    const { rememberSearch } = await later(() => import("../../lib/lastSearches"));
    rememberSearch(me.profile.id, search);
  }

  /**
   * Changes the view of the folder, and loads it again if the order changes. Whether results are a
   * grid or a list is a part of the address of their search.
   */
  show(changes: Partial<View>): void {
    const { shape, ...others } = changes;
    if (shape && this.searching) changeSearch({ shape });
    views.set(this.path, this.searching ? others : changes);
    if (!changes.sort && !changes.order) return;
    const reopened = this.reopen();
    this.#nudged = this.#nudged.then(() => reopened); // places are counted in the new order
  }

  /** Loads the visible entries again. The selection stays with its entries. */
  async refresh(focusOn?: string): Promise<void> {
    const { listing, selection } = this;
    try {
      await listing.refresh();
    } catch (cause) {
      if (!(cause instanceof Failure)) return;
      // If the folder is gone or access was lost, the screen shows that instead of the old entries.
      if (gone.includes(cause.code)) {
        selection.set([], 0);
        listing.failed = cause;
      } else listing.problem = cause;
      return;
    }
    const at = focusOn && listing === this.listing ? listing.indexOf(focusOn) : -1;
    if (at >= 0) selection.set(selection.chosen, at);
  }

  /** The address of an entry: a folder's page, or this page with the file open. */
  href(entry: Entry): string {
    if (entry.type === "folder") return address("/app/files", pathOf(entry));
    const query = new URLSearchParams(location.search);
    query.set("view", entry.id);
    return `${location.pathname}?${query}`;
  }

  open(index: number): void {
    const entry = this.listing.at(index);
    if (!entry) return;
    this.selection.moveTo(index);
    if (entry.type === "folder") go(address("/app/files", pathOf(entry)));
    else goQuery({ view: entry.id });
  }

  /** The entries are in different folders. */
  get scattered(): boolean {
    return this.searching || this.collection !== undefined;
  }

  /** Stars the selected entries, or removes their stars when all of them have one. */
  async star(): Promise<void> {
    const { starChosen } = await withTexts(import("./starring"), "changes", "places");
    await starChosen(this);
  }

  /** Shows a change of a star. The page of the favourites shows it by its entries. */
  starred(id: string, favourite: boolean): void {
    if (this.collection && !this.collection.gallery) return void this.refresh();
    const entry = this.listing.at(this.listing.indexOf(id));
    if (entry?.id === id) this.listing.replace({ ...entry, favourite });
  }

  /** Reports whether all loaded entries of the selection have a permission. */
  may(permission: Permission): boolean {
    return this.sample.every((entry) => may(entry, permission));
  }

  /** The selected entries, or else the active entry. */
  async chosen(): Promise<Entry[]> {
    const { count, chosen, active } = this.selection;
    try {
      return await this.listing.collect(count > 0 ? chosen : of([active]));
    } catch (cause) {
      this.complain(cause, () => undefined);
      return [];
    }
  }

  /** Opens a panel, for the selected entries unless others are given. */
  async openPanel(name: Panel, of?: Entry[]): Promise<void> {
    const bare = name === "shortcuts";
    const entries = bare ? [] : (of ?? (await this.chosen()));
    if (bare || entries.length > 0) this.panel = { name, entries };
  }

  /** Moves the selected entries to the trash; asks before it deletes them where there is none. */
  async remove(): Promise<void> {
    if (!session.me?.trashDays) return this.openPanel("delete");
    const { toTrash } = await withTexts(import("./trashing"), "trash");
    await toTrash(this);
  }

  /** Refreshes the listing when an action fails because its entry is gone. */
  readonly missed = (cause: unknown): never => {
    if (cause instanceof Failure && cause.code === "NOT_FOUND") void this.refresh();
    throw cause;
  };

  /** Renames an entry. `say` shows the message with Undo. Throws Failure. */
  async rename(entry: Entry, name: string, say = toast): Promise<void> {
    const params = { path: { id: entry.id } };
    const { file } = await take(client.PUT("/api/files/{id}", { params, body: { name } })).catch(this.missed);
    this.listing.replace({ ...entry, ...file });
    // without a network, the name has changed all the same
    void withTexts(import("../../lib/undo"), "changes").then(
      ({ toastRenamed }) => toastRenamed(entry, file.name, say),
      () => undefined,
    );
  }

  /** Moves entries, by default the selected ones, to a folder. */
  async moveInto(folder: string, entries?: readonly Entry[]): Promise<void> {
    const moved = entries ?? (await this.chosen());
    const { moveTo } = await withTexts(import("./moving"), "changes");
    await moveTo(this, folder, moved);
  }

  /** Copies the links of entries, by default the selected ones. */
  async copyLinks(of?: readonly Entry[]): Promise<void> {
    const entries = of ?? (await this.chosen());
    if (entries.length === 0) return;
    try {
      await copyLinks(entries);
    } catch (cause) {
      this.complain(cause, () => void this.copyLinks(of));
    }
  }

  /**
   * Moves an entry within the manual order; `to` is counted without it. `tell` shows a toast with
   * Undo.
   */
  async reorder(index: number, to: number, tell = true): Promise<void> {
    const { moveWithin } = await withTexts(import("./reordering"), "changes");
    await moveWithin(this, index, to, tell);
  }

  #nudged = Promise.resolve();
  /** Moves the active entry by some places, after earlier moves have ended. */
  nudge(by: number): void {
    const { selection } = this;
    this.#nudged = this.#nudged.then(() => this.reorder(selection.active, selection.active + by, false));
  }

  /** Downloads the selected entries: one file by itself, everything else as zip. */
  async download(): Promise<void> {
    const entries = await this.chosen();
    const [one] = entries;
    if (entries.length === 1 && one?.type === "file") return this.downloadOne(one);
    if (one) (await import("./zipping")).zip(entries);
  }

  async downloadOne(entry: Entry): Promise<void> {
    try {
      save(await this.source.download(entry));
    } catch (cause) {
      if (cause instanceof Failure && cause.code === "PASSWORD_REQUIRED") this.locked = entry;
      else if (cause instanceof Failure && cause.code === "FORBIDDEN") toastRefusal("download", pathOf(entry));
      else this.complain(cause, () => void this.downloadOne(entry));
    }
  }

  /** Shows an error, with a retry action where a retry may help. */
  complain(cause: unknown, again: () => void): void {
    const retry = cause instanceof Failure && ["NETWORK", "INTERNAL_ERROR"].includes(cause.code);
    toast("error", explain(cause), retry ? { label: t.common.retry, run: again } : undefined);
  }
}

/**
 * Makes the browser save the content of an address. A failure does not navigate away from the page.
 */
export function save(url: string, name = ""): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.hidden = true;
  document.body.append(link);
  link.click();
  link.remove();
}
