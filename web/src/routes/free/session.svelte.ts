/**
 * The session of free mode. Its cookie belongs to the browser, so another tab may begin another
 * session. The CSRF token is in memory: each page fetches it with the session.
 */
import { client, Failure, take, type Schemas } from "../../lib/api";
import { forget, remember, type Fields } from "./fields";
import { sentence } from "./problems";

/** The session, with its end by the clock of this device. */
export type Opened = Schemas["ApiFreeSessionReply"] & { endsAt: number };

/** `failed`: it is not known whether there is a session. */
type Stage = "loading" | "failed" | "off" | "connect" | "open";

interface Told {
  data?: { data: Schemas["ApiFreeSessionReply"]; timestamp: number };
  error?: unknown;
  response: Response;
}

export class FreeSession {
  stage = $state<Stage>("loading");
  /** The open session, or the last one. */
  session = $state.raw<Opened>();
  /** The reason for `failed`. */
  problem = $state("");
  /** The reason why the form is shown again, "" at first. */
  ended = $state<"" | "expired" | "left">("");

  /** `replaced` is called when another tab has begun another session. */
  constructor(private readonly replaced: () => void) {}

  /** Finds out whether there is a session. */
  async load(): Promise<void> {
    this.stage = "loading";
    try {
      this.open(await this.ask());
    } catch (cause) {
      this.settle(cause);
    }
  }

  /** Connects. Throws Failure. */
  async connect(fields: Fields, secretAccessKey: string): Promise<void> {
    const { type, endpoint, region, bucket, accessKeyId, hours } = fields;
    const body = { type, endpoint, region, bucket, accessKeyId, secretAccessKey, sessionHours: hours };
    try {
      this.open(await opened(client.POST("/api/free-mode/init", { body })));
    } catch (cause) {
      if (isCode(cause, "FORBIDDEN")) await this.check();
      throw cause;
    }
    remember(fields);
  }

  /** Ends the session. Throws Failure. */
  async leave(): Promise<void> {
    const before = this.session;
    const end = (headers: Record<string, string>) => take(client.POST("/api/free-mode/logout", { headers }));
    if (before) await this.write(end).catch(ignoreEnd);
    forget();
    this.stage = "connect";
    this.ended = "left";
  }

  /** The time of the session is over. */
  expire(): void {
    if (this.stage !== "open") return;
    this.stage = "connect";
    this.ended = "expired";
  }

  /** Runs a request that only reads. Throws Failure. */
  async read<Data>(run: () => Promise<Data>): Promise<Data> {
    try {
      return await run();
    } catch (cause) {
      if (isCode(cause, "UNAUTHORIZED")) this.expire();
      if (isCode(cause, "FORBIDDEN")) await this.check();
      throw cause;
    }
  }

  /**
   * Runs a request that writes, again with the current token if its token was refused. A request
   * for a session that another tab has replaced is not repeated. Throws Failure.
   */
  write<Data>(run: (headers: Record<string, string>) => Promise<Data>): Promise<Data> {
    return this.read(async () => {
      const before = this.session;
      const headers = () => ({ "X-CSRF-Token": this.session?.csrfToken ?? "" });
      try {
        return await run(headers());
      } catch (cause) {
        if (!isCode(cause, "INVALID_CSRF")) throw cause;
        this.open(await this.ask());
        if (this.session?.user.id !== before?.user.id) throw cause;
        return run(headers());
      }
    });
  }

  /** Takes notice of the session that a listing names. */
  async meet(id: string): Promise<void> {
    if (this.session && id !== this.session.user.id) await this.check();
  }

  /** Finds out what a refusal means: free mode may be off, or the session over. */
  private async check(): Promise<void> {
    try {
      this.open(await this.ask());
    } catch (cause) {
      if (isCode(cause, "FORBIDDEN") || isCode(cause, "UNAUTHORIZED")) this.settle(cause);
    }
  }

  private ask(): Promise<Opened> {
    return opened(client.GET("/api/free-mode/session"));
  }

  private open(session: Opened): void {
    const other = this.stage === "open" && this.session?.user.id !== session.user.id;
    this.session = session;
    this.stage = "open";
    this.ended = "";
    if (other) this.replaced();
  }

  private settle(cause: unknown): void {
    if (isCode(cause, "UNAUTHORIZED")) {
      if (this.stage === "open") this.expire();
      else this.stage = "connect";
    } else if (isCode(cause, "FORBIDDEN")) this.stage = "off";
    else {
      this.problem = sentence(cause);
      this.stage = "failed";
    }
  }
}

function isCode(cause: unknown, code: string): boolean {
  return cause instanceof Failure && cause.code === code;
}

/** A session that has ended already needs no end. */
function ignoreEnd(cause: unknown): void {
  if (!isCode(cause, "UNAUTHORIZED")) throw cause;
}

async function opened(answer: Promise<Told>): Promise<Opened> {
  const told = await answer;
  const session = await take(Promise.resolve(told));
  return { ...session, endsAt: Date.now() + session.expiresAt - told.data!.timestamp };
}
