/**
 * Whether files that a visitor looks at can be shown: the reasons why not, and how often each was
 * loaded.
 */
import { SvelteMap } from "svelte/reactivity";
import type { Entry } from "./entry";
import { t } from "./i18n.svelte";
import { kindOf } from "./preview";
import type { Visit } from "./visit.svelte";

/** Codes of failures that a password can end. */
const askable = (code = "") => ["INVALID_PASSWORD", "PASSWORD_REQUIRED", "INVALID_TOKEN"].includes(code);

export class ShownFiles {
  private readonly problems = new SvelteMap<string, string>();
  private readonly loads = new SvelteMap<string, number>();

  constructor(private readonly visit: Visit) {}

  problem(entry: Entry): string {
    return this.problems.get(entry.id) ?? "";
  }

  /** Changes when the file must be loaded again. */
  key(entry: Entry): string {
    return `${entry.id} ${this.loads.get(entry.id) ?? 0}`;
  }

  /** Reports whether the file is shown as a picture. */
  isPicture(entry: Entry): boolean {
    return this.visit.isPicture(entry) && !this.problems.has(entry.id);
  }

  /** Notes why a file is not shown. Where the access had ended, the file loads again. */
  async failed(entry: Entry, why: { url?: string; code?: string; text?: string }): Promise<void> {
    const { code = "", renewed } = why.url
      ? await this.visit.check(why.url, entry)
      : { code: why.code, renewed: askable(why.code) && (await this.visit.renew(entry)) };
    if (renewed) {
      this.loads.set(entry.id, (this.loads.get(entry.id) ?? 0) + 1);
      return;
    }
    const unreadable = kindOf(entry) === "image" ? t.viewer.broken : t.viewer.unplayable;
    const words: Record<string, string> = {
      "": unreadable,
      FORBIDDEN: t.share.noPreviewKind,
      NOT_FOUND: t.share.notThere,
      // the question for the password was closed
      INVALID_PASSWORD: t.failures.PASSWORD_REQUIRED!,
      INVALID_TOKEN: t.failures.PASSWORD_REQUIRED!,
    };
    this.problems.set(entry.id, why.text ?? words[code] ?? t.failures[code] ?? t.share.failed);
  }
}
