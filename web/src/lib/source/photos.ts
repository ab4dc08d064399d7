/**
 * The account's own pictures and videos as a timeline, the newest first. A reader knows the months
 * and the number of files in each, so it can begin to read in any month. Answers follow each other
 * by cursors; a page is reached by the way with the fewest answers.
 */
import { client, take } from "../api";
import type { Entry } from "../entry";
import type { Month } from "../timeline";
import { account } from "./account";
import type { Media, Page, Reader, Source } from "./source";

export const photos: Source = {
  ...account,
  can: { search: false, filter: false, sort: false, paths: true, edit: true },
  state: (_, media) => (media ? `/api/files/timeline/revision?kind=${media}` : "/api/files/timeline/revision"),
  read: ({ media }) => new Pages(media),
};

/** The most files of an answer. */
const mostAnswered = 1000;
/** A reader keeps so many files; those farthest from the last answer are dropped first. */
const mostKept = 4000;
/** The most months that are asked for at once. */
const atOnce = 4;

/** Where an answer begins: at the newest file, at a file of a month, or after a cursor. */
interface Start {
  /** The index of its first file. */
  at: number;
  query: { month?: string; offset?: number; cursor?: string };
  /** The index after the last file that follows. */
  end: number;
}

interface Asked {
  from: number;
  to: number;
  done: Promise<void>;
}

class Pages implements Reader {
  readonly split = false;
  readonly #kind: { kind?: Media };
  #timeline: Promise<void> | undefined;
  #months: readonly Month[] = [];
  /** The index of the first file of each month, and the number of all files. */
  #begins: number[] = [0];
  /** Files by the index of the first of them. */
  readonly #known = new Map<number, readonly Entry[]>();
  /** Cursors by the index of the file after them; the first file needs none. */
  readonly #cursors = new Map<number, string>([[0, ""]]);
  readonly #asked = new Set<Asked>();
  /** The timeline and an answer do not agree. */
  #changed = false;

  constructor(media: Media | undefined) {
    this.#kind = media ? { kind: media } : {};
  }

  async page(_: unknown, nth: number, limit: number, signal: AbortSignal): Promise<Page> {
    const from = nth * limit;
    this.#timeline ??= this.#load(signal);
    // the newest files need no timeline
    if (from === 0 && !this.#known.has(0) && this.#asked.size === 0)
      void this.#ask({ at: 0, query: {}, end: Infinity }, limit, signal).catch(() => undefined);
    await this.#timeline;
    const total = this.#total;
    const to = Math.min(total, from + limit);
    const items: Entry[] = [];
    while (from + items.length < to) {
      const at = from + items.length;
      const more = this.#at(at, to);
      if (more.length > 0) items.push(...more);
      else if (this.#changed) break;
      else await this.#reach(at, to, signal);
    }
    return { items, total, folder: null, mount: null, months: this.#months, changed: this.#changed };
  }

  get #total(): number {
    return this.#begins.at(-1)!;
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { months } = await take(client.GET("/api/files/timeline", { params: { query: this.#kind }, signal }));
    this.#months = months;
    this.#begins = [0];
    for (const { count } of months) this.#begins.push(this.#total + count);
  }

  /** The known files from an index on, up to another one. */
  #at(at: number, to: number): readonly Entry[] {
    for (const [first, entries] of this.#known)
      if (first <= at && at < first + entries.length) return entries.slice(at - first, to - first);
    return [];
  }

  /** Reads towards a file, and on towards the end of its page. */
  async #reach(at: number, to: number, signal: AbortSignal): Promise<void> {
    for (const asked of this.#asked) if (asked.from <= at && at <= asked.to) return asked.done;
    const month = this.#monthOf(at);
    const months = Array.from({ length: this.#monthOf(to - 1) - month + 1 }, (_, nth) => month + nth);
    const near = Math.max(...[...this.#cursors.keys()].filter((index) => index <= at));
    // one answer from each month, or those from the nearest cursor on
    if (Math.ceil((to - near) / mostAnswered) <= months.length) {
      const cursor = this.#cursors.get(near)!;
      const start = { at: near, query: cursor === "" ? {} : { cursor }, end: Infinity };
      return this.#ask(start, near === at ? to - at : mostAnswered, signal);
    }
    await Promise.all(
      months.slice(0, atOnce).map((one) => {
        const [first, end] = [this.#begins[one]!, this.#begins[one + 1]!];
        const from = Math.max(at, first);
        const query = { month: this.#months[one]!.month, ...(from > first && { offset: from - first }) };
        return this.#ask({ at: from, query, end }, Math.min(to, end) - from, signal);
      }),
    );
  }

  #monthOf(index: number): number {
    return Math.max(
      0,
      this.#begins.findLastIndex((begin) => begin <= index && begin < this.#total),
    );
  }

  async #ask(start: Start, limit: number, signal: AbortSignal): Promise<void> {
    const done = this.#read(start, limit, signal);
    const asked = { from: start.at, to: Math.min(start.end, start.at + limit), done };
    this.#asked.add(asked);
    try {
      await done;
    } finally {
      this.#asked.delete(asked);
    }
  }

  async #read({ at, query, end }: Start, limit: number, signal: AbortSignal): Promise<void> {
    const params = { query: { ...this.#kind, ...query, limit } };
    const { items, cursor } = await take(client.GET("/api/files/timeline/entries", { params, signal }));
    await this.#timeline;
    const next = at + items.length;
    const whole = cursor === null ? next === Math.min(end, this.#total) : items.length === limit && next < end;
    if (!whole || !this.#fits(at, items[0]) || !this.#fits(next - 1, items.at(-1))) this.#changed = true;
    if (items.length > 0) this.#known.set(at, items);
    if (cursor !== null) this.#cursors.set(next, cursor);
    this.#forget(at);
  }

  /** Reports whether a file is of the month that its index says. */
  #fits(index: number, entry: Entry | undefined): boolean {
    if (!entry) return true;
    const month = new Date(entry.takenAt ?? entry.createdAt ?? 0).toISOString().slice(0, 7);
    return index < this.#total && month === this.#months[this.#monthOf(index)]!.month;
  }

  #forget(near: number): void {
    let kept = 0;
    for (const [first, entries] of [...this.#known].sort(([a], [b]) => Math.abs(a - near) - Math.abs(b - near))) {
      kept += entries.length;
      if (kept > mostKept) this.#known.delete(first);
    }
  }
}
