/**
 * The visit of the public folders. Folders, rules and files may have passwords: a request that
 * needs one asks for it, and then goes on.
 */
import { SvelteMap, SvelteSet } from "svelte/reactivity";
import { Failure } from "./api";
import { may, pathOf, type Entry } from "./entry";
import { isDrawing, kindOf, mostDrawingTile, refusal } from "./preview";
import { address } from "./router.svelte";
import { session } from "./session.svelte";
import { guests } from "./source/account";
import type { Source } from "./source/source";
import { Unanswered } from "./unanswered";
import type { Visit } from "./visit.svelte";

/** A question for a password. */
interface Question {
  path: string;
  purpose: "download" | "preview";
}

export class GuestVisit implements Visit {
  /** The folder that the visit begins in, if there is only one. */
  top = $state("/");
  readonly previews = true;
  readonly left = undefined;
  readonly ends = ["NOT_FOUND", "UNAUTHORIZED", "PASSWORD_REQUIRED"];
  /** The password that the page asks for. */
  question = $state.raw<Question>();
  private settle: ((url: string | undefined) => void) | undefined;
  /** Addresses of files whose own password was given, by id. */
  private readonly unlocked = new SvelteMap<string, string>();
  /** The ids of files that can be downloaded with the password of a rule. */
  private readonly lockedByRule = new SvelteSet<string>();
  /** How often a password was given; addresses contain it, so that pictures load again. */
  private renewed = $state(0);
  private checking: Promise<unknown> | undefined;

  get title(): string {
    return session.site?.siteTitle ?? "";
  }

  isPicture(entry: Entry): boolean {
    return kindOf(entry) === "image";
  }

  /** Without its password, or that of a rule, a file shows no permission to download it. */
  canDownload(entry: Entry): boolean {
    return (
      may(entry, "download") || entry.hasPassword || this.unlocked.has(entry.id) || this.lockedByRule.has(entry.id)
    );
  }

  async findLock(entry: Entry): Promise<void> {
    if (this.canDownload(entry)) return;
    if ((await refusal(guests.content(entry))) === "PASSWORD_REQUIRED") this.lockedByRule.add(entry.id);
  }

  folder(path: string): string {
    return path === "/" ? "/app/files" : `${address("", path)}/`;
  }

  async check(url: string, entry: Entry): Promise<{ code: string; renewed: boolean }> {
    const code = await refusal(url);
    const ended = code === "INVALID_TOKEN" && this.unlocked.has(entry.id); // of the address that a password opened
    return { code, renewed: (ended || code === "PASSWORD_REQUIRED") && (await this.renew(entry)) };
  }

  checkPicture(url: string, entry: Entry): void {
    this.checking ??= this.check(url, entry).then(() => (this.checking = undefined));
  }

  end(): boolean {
    return false; // the folder says why
  }

  async renew(entry: Entry): Promise<boolean> {
    const url = await this.ask({ path: pathOf(entry), purpose: "preview" });
    if (url) this.unlocked.set(entry.id, url);
    return url !== undefined;
  }

  /** Ends the question, with the address that the password has opened. */
  answer(url: string | undefined): void {
    this.question = undefined;
    if (url !== undefined) this.renewed++;
    this.settle?.(url);
    this.settle = undefined;
  }

  /** Asks for a password. Resolves to the address that it opened, undefined if it was not given. */
  private ask(question: Question): Promise<string | undefined> {
    this.settle?.(undefined);
    this.question = question;
    return new Promise((resolve) => (this.settle = resolve));
  }

  /** The source of the public folders. Its requests ask for the passwords that they need. */
  source(): Source {
    const again = (url: string) =>
      url && this.renewed > 0 ? `${url}${url.includes("?") ? "&" : "?"}again=${this.renewed}` : url;
    const content = (entry: Entry) => this.unlocked.get(entry.id) ?? again(guests.content(entry));
    return {
      ...guests,
      read: (wanted) => {
        const reader = guests.read(wanted);
        return {
          split: reader.split,
          page: async (...page) => {
            for (;;) {
              try {
                return await reader.page(...page);
              } catch (cause) {
                if (!(cause instanceof Failure) || cause.code !== "PASSWORD_REQUIRED") throw cause;
                if (!(await this.ask({ path: wanted.path, purpose: "preview" }))) throw cause;
              }
            }
          },
        };
      },
      thumbnail: (entry, size) => {
        if (!isDrawing(entry)) return again(guests.thumbnail(entry, size));
        return entry.size <= mostDrawingTile && !entry.hasPassword && may(entry, "download") ? content(entry) : "";
      },
      content,
      download: async (entry) => {
        if (!entry.hasPassword && may(entry, "download")) return guests.download(entry);
        const url = await this.ask({ path: pathOf(entry), purpose: "download" });
        if (!url) throw new Unanswered();
        return url;
      },
    };
  }
}
