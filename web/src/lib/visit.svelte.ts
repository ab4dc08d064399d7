/** The visit of a share, and the interface of all visits. */
import { client, Failure, take, type Schemas } from "./api";
import { may, type Entry } from "./entry";
import type { ShareState } from "./follow";
import { isDrawing, kindOf, mostDrawingTile, refusal } from "./preview";
import { route } from "./router.svelte";
import { permissionsOf, shared } from "./source/share";
import type { Source } from "./source/source";
import { Unanswered } from "./unanswered";

export type Share = Schemas["ApiVisitedShareReply"];

/** The codes after which a share cannot be opened any more. */
const endings = ["SHARE_REVOKED", "SHARE_EXPIRED", "SHARE_LIMIT_REACHED"];

/** A place that a visitor looks at: a share, or the public folders (guestVisit.svelte.ts). */
export interface Visit {
  /** The name of the topmost folder. */
  readonly title: string;
  /** The path of the topmost folder. */
  readonly top: string;
  /** Whether files are shown, not just listed. */
  readonly previews: boolean;
  /** How many downloads are left, undefined without a limit. */
  readonly left: number | undefined;
  /** Notes how many downloads the share has counted, and what its creator has changed. */
  readonly saw?: (state: ShareState) => void;
  /** Reports whether the visitor can download a file now. */
  canDownload(entry: Entry): boolean;
  /** Finds out whether the password of a rule allows the download of a file that is not shown. */
  findLock?(entry: Entry): Promise<void>;
  /** Whether the page shows an entry as a picture. */
  isPicture(entry: Entry): boolean;
  /** The address of a folder, by its path. */
  folder(path: string): string;
  /**
   * Finds out why the bytes of an entry were not shown; the access may have ended. Resolves to the
   * code, "" for none, and to whether the visitor has given the password again.
   */
  check(address: string, entry: Entry): Promise<{ code: string; renewed: boolean }>;
  checkPicture(address: string, entry: Entry): void;
  /** The codes that say that a folder cannot be listed any more. */
  readonly ends: readonly string[];
  /**
   * Notes that a folder cannot be listed any more. Returns whether the page shows something else
   * than the folder then.
   */
  end(code: string, path: string): boolean;
  /** Asks for the password again. Resolves to whether it was given. */
  renew(entry: Entry): Promise<boolean>;
}

/**
 * The visit of a share. The share is requested once, because each request that shows it counts as a
 * view; src/boot.js has sent that request. A password gives access for 15 minutes: after that, the
 * next request asks for the password again, and then goes on.
 */
export class ShareVisit implements Visit {
  readonly top = "/";
  readonly ends = [...endings, "NOT_FOUND", "INVALID_PASSWORD"];
  /** The share, undefined until it has arrived. */
  share = $state.raw<Share>();
  /** The code of the reason why the share cannot be opened, "" while it can. */
  ended = $state("");
  /** The reason why the share has not arrived. */
  problem = $state.raw<unknown>();
  /** The access has ended, and the page asks for the password. */
  asking = $state(false);
  /** The creator has set a password, and the page shows nothing until it is given. */
  locked = $state(false);
  /** When the password has to be given again, in ms; Infinity for none, 0 while it is not known. */
  private until = 0;
  /** How often the password was given again; addresses contain it, so that pictures load again. */
  private renewed = $state(0);
  /** Downloads of this visit, which the share does not count yet. */
  private downloads = $state(0);
  /** The most downloads that the share has counted in an answer. */
  private seen = $state(0);
  private exhausted = $state(false);
  private waiting: { promise: Promise<boolean>; settle: (given: boolean) => void } | undefined;
  private checking: Promise<unknown> | undefined;

  constructor(
    readonly id: string,
    ended: string,
  ) {
    this.ended = ended;
    if (ended === "") void this.open();
  }

  /** Requests the share. */
  async open(): Promise<void> {
    this.problem = undefined;
    try {
      const params = { path: { id: this.id } };
      this.share = (await take(client.GET("/api/shares/{id}", { params }))).share;
      this.seen = this.share.downloadCount;
    } catch (cause) {
      const code = cause instanceof Failure ? cause.code : "";
      if (endings.includes(code) || code === "NOT_FOUND") this.ended = code;
      else this.problem = cause;
    }
  }

  /** Submits the password. Throws Failure. */
  async unlock(password: string): Promise<void> {
    try {
      await take(client.POST("/api/shares/{id}/verify", { params: { path: { id: this.id } }, body: { password } }));
    } catch (cause) {
      // VALIDATION_ERROR: the share has no password any more
      if (!(cause instanceof Failure) || cause.code !== "VALIDATION_ERROR") {
        this.noteEnd(cause);
        throw cause;
      }
    }
    if (this.share?.requiresPassword !== false) return this.open();
    this.until = 0;
    this.locked = false;
    this.renewed++;
    this.answer(true);
  }

  /** Ends the question for the password. */
  answer(given: boolean): void {
    this.asking = false;
    this.waiting?.settle(given);
    this.waiting = undefined;
  }

  /**
   * Makes a request, and makes it again when the visitor has given the password again. Throws
   * Failure, and Unanswered when they have not.
   */
  async run<Result>(request: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await request();
      } catch (cause) {
        this.noteEnd(cause);
        if (!(cause instanceof Failure) || cause.code !== "INVALID_PASSWORD") throw cause;
        if (!(await this.renew())) throw new Unanswered();
      }
    }
  }

  get title(): string {
    return this.share?.title ?? "";
  }

  get previews(): boolean {
    return this.share?.allowPreview === true;
  }

  folder(path: string): string {
    return path === "/" ? route.path : `${route.path}?path=${encodeURIComponent(path)}`;
  }

  async check(address: string): Promise<{ code: string; renewed: boolean }> {
    const code = await refusal(address);
    if (code === "SHARE_EXPIRED") this.ended = code;
    return { code, renewed: code === "INVALID_PASSWORD" && (await this.renew()) };
  }

  /** As check, once at a time: many pictures of a page fail together. */
  checkPicture(address: string): void {
    this.checking ??= this.check(address).then(() => (this.checking = undefined));
  }

  end(code: string, path: string): boolean {
    if (code === "INVALID_PASSWORD") {
      // After the time of the password, the page asks only before its next request.
      if (Date.now() < this.until) this.locked = true;
      return true;
    }
    if (!endings.includes(code) && path !== this.top) return false; // only the folder is gone
    this.ended = code;
    return true;
  }

  renew(): Promise<boolean> {
    if (!this.waiting) {
      let settle!: (given: boolean) => void;
      const promise = new Promise<boolean>((resolve) => (settle = resolve));
      this.waiting = { promise, settle };
      this.asking = true;
    }
    return this.waiting.promise;
  }

  get left(): number | undefined {
    if (!this.share || this.share.maxDownloads === null) return undefined;
    if (this.exhausted) return 0;
    return Math.max(0, this.share.maxDownloads - this.seen - this.downloads);
  }

  readonly saw = (state: ShareState): void => {
    this.until = state.accessExpiresIn === null ? Infinity : Date.now() + (state.accessExpiresIn ?? 0);
    this.note(state);
    const downloads = state.downloadCount ?? 0;
    if (downloads <= this.seen) return;
    this.downloads = Math.max(0, this.downloads - (downloads - this.seen)); // these may be among them
    this.seen = downloads;
  };

  /** Notes the values that the creator has changed. A state of an older server lacks them. */
  private note(state: ShareState): void {
    const { share } = this;
    if (!share) return;
    const changed = (["title", "expiresAt", "maxDownloads", "allowPreview", "allowDownload"] as const).filter(
      (name) => state[name] !== undefined && state[name] !== share[name],
    );
    if (changed.length === 0) return;
    if (changed.includes("maxDownloads")) this.exhausted = false;
    this.share = { ...share, ...Object.fromEntries(changed.map((name) => [name, state[name]])) };
  }

  canDownload(entry: Entry): boolean {
    return may(entry, "download") && this.left !== 0;
  }

  isPicture(entry: Entry): boolean {
    return this.previews && kindOf(entry) === "image";
  }

  /** The entry that is shared. */
  get entry(): Entry | undefined {
    const { share } = this;
    if (!share?.file) return undefined;
    const permissions = permissionsOf(this.rights(share));
    return { ...share.file, hasPassword: false, permissions, createdAt: null, updatedAt: null };
  }

  /** The source of what is shared. Its requests ask for the password when the access has ended. */
  source(): Source {
    const source = shared(this.rights(this.share!));
    const again = (address: string) => (address && this.renewed > 0 ? `${address}&again=${this.renewed}` : address);
    const content = (entry: Entry) => again(source.content(entry));
    return {
      ...source,
      read: (wanted) => {
        const reader = source.read(wanted);
        return { split: reader.split, page: (...page) => this.run(() => reader.page(...page)) };
      },
      thumbnail: (entry, size) => {
        if (!isDrawing(entry)) return again(source.thumbnail(entry, size));
        return entry.size <= mostDrawingTile ? content(entry) : "";
      },
      content,
      download: (entry) => this.counted(() => source.download(entry)),
      archive: (entries) => this.counted(() => source.archive!(entries)),
    };
  }

  /** Requests the address of a download, which counts when the address is used. */
  private async counted(request: () => Promise<string>): Promise<string> {
    const address = await this.run(request);
    this.downloads++;
    return address;
  }

  private rights(share: Share) {
    const { allowPreview, allowDownload } = share;
    return { id: this.id, allowPreview: allowPreview === true, allowDownload: allowDownload === true };
  }

  private noteEnd(cause: unknown): void {
    if (!(cause instanceof Failure)) return;
    // the limit of downloads ends only these
    if (cause.code === "SHARE_LIMIT_REACHED") this.exhausted = true;
    else if (endings.includes(cause.code)) this.ended = cause.code;
  }
}
