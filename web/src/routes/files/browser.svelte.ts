/** One folder on the screen: its listing, what is chosen in it, and what is under way with that. */
import { tick } from "svelte";
import { client, Failure, take } from "../../lib/api";
import { moveAll } from "../../lib/bulk";
import { explain, isImage, may, nameOf, pathOf, type Entry, type Permission } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import { copyLinksOf } from "../../lib/links";
import { Listing, type Order, type Sort } from "../../lib/listing.svelte";
import { place as positions } from "../../lib/order";
import { shownPicture } from "../../lib/pictures";
import { each, of } from "../../lib/ranges";
import { address, go, goQuery } from "../../lib/router.svelte";
import { Selection } from "../../lib/selection.svelte";
import { show } from "../../lib/works.svelte";
import { toast } from "../../lib/toasts.svelte";
import { views, type View } from "../../lib/views.svelte";

/** What a search looks through. */
export interface Search {
  text: string;
  everywhere: boolean;
}

/** What is open above the listing. */
export type Panel = "move" | "copy" | "delete" | "appearance" | "password" | "links" | "shortcuts" | "commands";

/** Above this many nothing is dragged, cut or looked at one by one. */
const fewEnough = 2000;

/** What a folder answers that cannot be looked at any more. */
const ended = ["NOT_FOUND", "FORBIDDEN", "PASSWORD_REQUIRED"];

export class Browser {
  readonly path: string;
  readonly visitor: boolean;
  readonly selection = new Selection();
  listing = $state.raw() as Listing;
  /** The search whose finds the listing is; without a text it is the folder. */
  search = $state.raw() as Search;
  #next: Listing | undefined;
  #wanted: Search;
  /** The entry whose name is being changed. */
  renaming = $state("");
  creating = $state(false);
  /** Entries are being dragged. */
  dragging = $state(false);
  panel = $state.raw<{ name: Panel; entries: Entry[] }>();
  /** A file whose password is asked for, for its download. */
  locked = $state.raw<Entry>();
  /** The password of this folder is asked for. */
  unlocking = $state(false);
  details = $state(false);
  /** What the details are of: the entry that is chosen, or else the folder. */
  readonly detailed = $derived.by(() => {
    if (!this.details) return undefined;
    return (this.selection.count === 0 && this.listing.folder) || this.listing.at(this.selection.active);
  });
  /** The file that is looked at was opened here, so that Back leads here. */
  entered = false;
  /** Puts the focus on an entry; set by what draws them. */
  focus: (index: number) => void = () => undefined;
  /** Goes to the search; set by what has it. */
  seek: () => void = () => undefined;

  readonly view: View = $derived.by(() => views.of(this.path));
  readonly searching = $derived.by(() => this.search.text !== "");
  /** How the listing is ordered, by choice or by the mount. */
  readonly sort = $derived((this.view.sort ?? this.listing.mount?.sortBy ?? "name") as Sort);
  readonly order: Order = $derived(
    this.view.sort ? (this.view.order ?? "asc") : (this.listing.mount?.sortOrder ?? "asc"),
  );
  /** Rows, also where a search shows where its finds are. */
  readonly shape = $derived.by(() => (this.searching ? "list" : this.view.shape));
  readonly writable = $derived.by(
    () => !this.visitor && this.listing.folder !== null && may(this.listing.folder, "write"),
  );
  /** The order is made by hand, and can be changed here. */
  readonly byHand = $derived.by(() => this.sort === "manual" && !this.searching && !this.visitor);
  /** What is chosen, as far as it is loaded and few enough to be looked at one by one. */
  readonly sample: Entry[] = $derived.by(() => {
    const found: Entry[] = [];
    for (const index of each(this.selection.chosen)) {
      const entry = this.listing.at(index);
      if (entry) found.push(entry);
      if (found.length >= 200) break;
    }
    return found;
  });

  constructor(path: string, visitor: boolean, search: Search) {
    this.path = path;
    this.visitor = visitor;
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
    const path = search.everywhere && search.text !== "" ? "/" : this.path;
    return new Listing({ path, sort, order, search: search.text, visitor: this.visitor });
  }

  /** Goes over to another search, when it is another. */
  follow(search: Search): void {
    if (search.text === this.#wanted.text && search.everywhere === this.#wanted.everywhere) return;
    this.#wanted = search;
    void this.reopen();
  }

  /** Asks for the listing anew, in another order or for another search. What is there stays until the new has come. */
  async reopen(): Promise<void> {
    const search = this.#wanted;
    this.#next?.close();
    const next = this.#ask(search);
    this.#next = next;
    await next.ready;
    if (this.#next !== next) return;
    this.#next = undefined;
    this.listing.close();
    this.search = search;
    this.selection.set([], 0);
    this.listing = next;
    window.scrollTo({ top: 0, behavior: "instant" });
    await this.refocus();
  }

  /** Gives the focus to an entry where what had it is gone, or else to the page. */
  async refocus(): Promise<void> {
    await tick();
    const at = document.activeElement;
    if (at && at !== document.body && at.id !== "content") return;
    const { total } = this.listing;
    if (total > 0) this.focus(Math.min(this.selection.active, total - 1));
    else document.getElementById("content")?.focus();
  }

  /** Changes how the folder is shown, and asks for it anew where its order changes. */
  show(changes: Partial<View>): void {
    views.set(this.path, changes);
    if (changes.sort || changes.order) void this.reopen();
  }

  /** Asks anew for what is on the screen. The selection stays with the entries that it was of. */
  async refresh(focusOn?: string): Promise<void> {
    const { listing, selection } = this;
    const chosen =
      selection.count <= fewEnough ? [...each(selection.chosen)].map((index) => listing.at(index)?.id) : [];
    const active = focusOn ?? listing.at(selection.active)?.id;
    try {
      await listing.refresh();
    } catch (cause) {
      if (!(cause instanceof Failure)) return;
      // Where the folder has gone meanwhile, or is closed to the reader, what is on the screen is not there any more.
      if (ended.includes(cause.code)) {
        selection.set([], 0);
        listing.failed = cause;
      } else listing.problem = cause;
      return;
    }
    if (listing !== this.listing) return;
    const found = chosen.map((id) => (id ? listing.indexOf(id) : -1)).filter((index) => index >= 0);
    const at = active ? listing.indexOf(active) : -1;
    selection.set(of(found), at >= 0 ? at : Math.max(0, Math.min(selection.active, listing.total - 1)));
  }

  /** The address of an entry: a folder's page, or this one with the file open. */
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
    else {
      this.entered = true;
      goQuery({ view: entry.id });
    }
  }

  /** Whether everything that is chosen may be done that to, as far as is known. */
  may(permission: Permission): boolean {
    // Archives are for accounts.
    const folders = this.visitor && permission === "download";
    return this.sample.every((entry) => may(entry, permission) && !(folders && entry.type === "folder"));
  }

  /** What is chosen, or else the entry that the keys act on. */
  async chosen(): Promise<Entry[]> {
    const { count, chosen, active } = this.selection;
    try {
      return await this.listing.collect(count > 0 ? chosen : of([active]));
    } catch (cause) {
      this.complain(cause, () => undefined);
      return [];
    }
  }

  /** Opens a panel for what is chosen. */
  async openPanel(name: Panel): Promise<void> {
    const bare = name === "shortcuts" || name === "commands";
    const entries = bare ? [] : await this.chosen();
    if (bare || entries.length > 0) this.panel = { name, entries };
  }

  /** What was acted on has gone meanwhile, so that the screen is out of date. */
  readonly #missed = (cause: unknown): never => {
    if (cause instanceof Failure && cause.code === "NOT_FOUND") void this.refresh();
    throw cause;
  };

  /** Changes a name. Throws Failure. */
  async rename(entry: Entry, name: string): Promise<void> {
    const params = { path: { id: entry.id } };
    const { file } = await take(client.PUT("/api/files/{id}", { params, body: { name } })).catch(this.#missed);
    this.listing.replace({ ...entry, ...file });
  }

  /** Makes a folder here, and stands on it. Throws Failure. */
  async createFolder(name: string): Promise<void> {
    const { file } = await take(client.POST("/api/files/folder", { body: { path: this.path, name } })).catch(
      this.#missed,
    );
    await this.refresh(file.id);
    const index = this.listing.indexOf(file.id);
    if (index >= 0) this.selection.only(index);
    await tick();
    this.focus(this.selection.active);
  }

  /** Moves what is chosen, or what was cut, to a folder. */
  async moveInto(folder: string, entries?: readonly Entry[]): Promise<void> {
    const moved = entries ?? (await this.chosen());
    const to = nameOf(folder) || t.files.home;
    const card = show(t.files.moving(to), moved.length);
    const { done, failed } = await moveAll(moved, folder, card.progress);
    card.end();
    await this.refresh();
    await this.refocus();
    if (done.length > 0) toast("ok", t.files.moved(done.length, to));
    if (failed.length > 0)
      toast("error", t.files.notMoved(failed.length, failed[0]!.reason), {
        label: t.common.retry,
        run: () =>
          void this.moveInto(
            folder,
            failed.map(({ entry }) => entry),
          ),
      });
  }

  /** Copies the links of what is chosen, in the format that was used last. */
  async copyLinks(): Promise<void> {
    const entries = await this.chosen();
    if (entries.length === 0) return;
    try {
      const { kind, text } = await copyLinksOf(entries);
      toast(kind, text);
    } catch (cause) {
      this.complain(cause, () => void this.copyLinks());
    }
  }

  /** Puts an entry to another place of the order made by hand; `to` as counted without it. */
  async reorder(index: number, to: number): Promise<void> {
    const { listing } = this;
    const [first, end] = index < listing.folders ? [0, listing.folders] : [listing.folders, listing.total];
    const wanted = Math.min(end - 1, Math.max(first, to));
    if (wanted === index) return;
    try {
      // Only what is before the farther of the two places can be in the way.
      const row = await listing.collect([[first, Math.min(end, Math.max(index, wanted) + 2)]]);
      const numbers = row.map((entry) => entry.manualPosition ?? null);
      const descending = this.order === "desc";
      const signed = descending ? numbers.map((number) => (number === null ? null : -number)) : numbers;
      for (const [nth, position] of positions(signed, index - first, wanted - first)) {
        const id = row[nth]!.id;
        const body = { manualPosition: descending ? -position : position };
        await take(client.PUT("/api/files/{id}", { params: { path: { id } }, body }));
      }
      await this.refresh(row[index - first]!.id);
      await tick();
      this.focus(this.selection.active);
    } catch (cause) {
      this.complain(cause, () => void this.reorder(index, to));
    }
  }

  #nudged = Promise.resolve();
  /** Puts the entry that the keys act on some places on, once those who were asked for before have found theirs. */
  nudge(by: number): void {
    const { selection } = this;
    this.#nudged = this.#nudged.then(() => this.reorder(selection.active, selection.active + by));
  }

  /** Downloads what is chosen: one file by itself, everything else as zip. */
  async download(): Promise<void> {
    const entries = await this.chosen();
    const [one] = entries;
    if (!one) return;
    if (this.visitor) {
      for (const entry of entries) if (entry.type === "file") save(address("", pathOf(entry)), entry.name);
    } else if (entries.length === 1 && one.type === "file") {
      await this.downloadOne(one);
    } else {
      const locked = entries.filter(({ hasPassword }) => hasPassword).length;
      if (locked > 0) toast("ok", t.files.lockedInZip(locked));
      for (let from = 0; from < entries.length; from += 100) {
        const ids = entries.slice(from, from + 100).map(({ id }) => id);
        save(`/api/files/zip?ids=${ids.join(",")}`);
      }
    }
  }

  async downloadOne(entry: Entry): Promise<void> {
    try {
      const { url } = await take(client.GET("/api/files/{id}/download", { params: { path: { id: entry.id } } }));
      save(url);
    } catch (cause) {
      if (cause instanceof Failure && cause.code === "PASSWORD_REQUIRED") this.locked = entry;
      else this.complain(cause, () => void this.downloadOne(entry), { FORBIDDEN: t.common.lacks.download });
    }
  }

  /** Says what went wrong, with a way to try again where that may help. */
  complain(cause: unknown, again: () => void, words: Record<string, string> = {}): void {
    const retry = cause instanceof Failure && ["NETWORK", "INTERNAL_ERROR"].includes(cause.code);
    toast("error", explain(cause, words), retry ? { label: t.common.retry, run: again } : undefined);
  }
}

/** Has the browser save what is at an address. A failure does not lead away from the page. */
export function save(url: string, name = ""): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.hidden = true;
  document.body.append(link);
  link.click();
  link.remove();
}

/** The picture of an entry, "" for none. */
export function pictureOf(entry: Entry, size: 160 | 320 | 640): string {
  const cover = shownPicture(entry.coverUrl);
  if (cover) return cover;
  return isImage(entry) && !entry.hasPassword ? `/api/files/${entry.id}/thumbnail?size=${size}` : "";
}
