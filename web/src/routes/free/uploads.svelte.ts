/** The uploads of free mode: two at a time, as many as the server allows. */
import { backoff, Failure, sleep } from "../../lib/api";
import type { Offered } from "../../lib/upload/item";
import { keyOf, most } from "./keys";

/**
 * `asking`: there may be an object with this key. `held`: the server asks for a pause. `ended`: the
 * session was over before the upload; the next session in the same bucket continues it.
 */
type State = "waiting" | "checking" | "asking" | "sending" | "held" | "done" | "failed" | "ended";

export class Upload {
  state = $state<State>("waiting");
  sent = $state(0); // bytes
  /** The reason for `failed`. */
  failure = $state.raw<unknown>();
  /** The user has decided to replace the object that has the key. */
  replaces = false;
  /** It is not known whether there is such an object. */
  unsure = $state(false);
  stopped = new AbortController();

  constructor(
    readonly file: File,
    readonly folder: string,
    readonly name: string,
  ) {}

  get key(): string {
    return keyOf(this.folder, this.name);
  }
  get moving(): boolean {
    return this.state === "checking" || this.state === "sending" || this.state === "held";
  }
  get tooLarge(): boolean {
    return this.file.size > most;
  }
}

/** The requests of uploads. */
export interface Requests {
  /** Whether a key has an object; undefined if the store does not tell. Throws Failure. */
  exists(key: string, signal: AbortSignal): Promise<boolean | undefined>;
  /** Throws Failure. */
  send(upload: Upload, progress: (bytes: number) => void): Promise<{ key: string; size: number }>;
  done(key: string, size: number): void;
}

const atOnce = 2;

export class Uploads {
  all = $state.raw<readonly Upload[]>([]);
  /** How many are still to be sent. */
  readonly open = $derived(this.all.filter(({ state, moving }) => moving || state === "waiting").length);
  readonly ended = $derived(this.all.filter(({ state }) => state === "ended").length);
  readonly asking = $derived(this.all.filter(({ state }) => state === "asking"));

  constructor(private readonly requests: Requests) {}

  /** Adds files to a folder. Those that are too large fail at once. */
  add(files: readonly Offered[], folder: string): void {
    const added = files.map(({ file, relPath }) => {
      const at = relPath.lastIndexOf("/");
      const upload = new Upload(file, `${folder}/${relPath.slice(0, at + 1)}`, relPath.slice(at + 1));
      if (upload.tooLarge) {
        upload.failure = new Failure("PAYLOAD_TOO_LARGE", "");
        upload.state = "failed";
      }
      return upload;
    });
    this.all = [...this.all, ...added];
    this.pump();
  }

  /** Sends an upload whose key exists. */
  replace(upload: Upload): void {
    upload.replaces = true;
    this.again(upload);
  }

  again(upload: Upload): void {
    upload.state = "waiting";
    upload.sent = 0;
    this.pump();
  }

  /** Stops an upload and takes it off the list. */
  remove(upload: Upload): void {
    upload.stopped.abort();
    this.all = this.all.filter((one) => one !== upload);
    this.pump();
  }

  /** Takes the finished ones off the list. */
  tidy(): void {
    this.all = this.all.filter(({ state }) => state !== "done");
  }

  /** Stops all uploads, because the session is over. */
  halt(): void {
    for (const upload of this.all) {
      if (!upload.moving && upload.state !== "waiting") continue;
      upload.stopped.abort();
      upload.stopped = new AbortController();
      upload.state = "ended";
    }
  }

  /** Continues after `halt`. */
  resume(): void {
    for (const upload of this.all) if (upload.state === "ended") this.again(upload);
  }

  clear(): void {
    for (const upload of this.all) upload.stopped.abort();
    this.all = [];
  }

  private pump(): void {
    for (const upload of this.all) {
      const moving = this.all.filter(({ moving }) => moving);
      if (moving.length >= atOnce) return;
      if (upload.state === "waiting" && !moving.some(({ key }) => key === upload.key)) void this.run(upload);
    }
  }

  private async run(upload: Upload): Promise<void> {
    const { signal } = upload.stopped;
    try {
      for (let tries = 0; ; tries++) {
        try {
          await this.attempt(upload, signal);
          break;
        } catch (cause) {
          if (signal.aborted || !(cause instanceof Failure) || cause.code !== "RATE_LIMIT_EXCEEDED") throw cause;
          upload.state = "held";
          await sleep(cause.retryAfter || backoff(tries), signal);
        }
      }
    } catch (cause) {
      if (signal.aborted) return;
      upload.failure = cause;
      upload.state = cause instanceof Failure && cause.code === "UNAUTHORIZED" ? "ended" : "failed";
    }
    this.pump();
  }

  private async attempt(upload: Upload, signal: AbortSignal): Promise<void> {
    if (!upload.replaces) {
      upload.state = "checking";
      const exists = await this.requests.exists(upload.key, signal);
      signal.throwIfAborted();
      if (exists !== false) {
        upload.unsure = exists === undefined;
        upload.state = "asking";
        return;
      }
    }
    upload.state = "sending";
    upload.sent = 0;
    const { key, size } = await this.requests.send(upload, (bytes) => (upload.sent = bytes));
    upload.state = "done";
    this.requests.done(key, size);
  }
}
