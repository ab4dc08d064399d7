/**
 * A fake of the upload endpoints, by the specification and docs/uploads.md, behind fetch and
 * XMLHttpRequest: sessions, parts, raw bodies, completion, folders, a store at another origin. A
 * test sets `fault` to make requests fail.
 */
import { vi } from "vitest";

export const origin = "http://larder.test";
export const store = "https://store.test";
const part = 8 * 1024 * 1024;

interface Session {
  id: string;
  path: string;
  name: string;
  size: number;
  key: string;
  conflict: string;
  mode: string;
  total: number | null;
  parts: Map<number, number>; // number → bytes
  raw: number | undefined;
  status: "pending" | "expired" | "completed" | "aborted";
  file?: object;
  until: number;
}

export interface Call {
  method: string;
  path: string;
  body: unknown;
}

/**
 * How a request fails: with this answer, without any answer ("cut"), or executed without an answer
 * ("lost").
 */
export type Fault =
  { status: number; code?: string; headers?: Record<string, string> } | "cut" | "lost" | "hang" | undefined;

export class Server {
  calls: Call[] = [];
  files = new Map<string, number>(); // path → size
  /** What the answer to a taken name tells of the file, by its path. */
  existing = new Map<string, object>();
  folders = new Set<string>(["/photos"]);
  sessions: Session[] = [];
  mode: "worker" | "presigned" = "worker";
  quota = Infinity;
  lifetime = 3_600_000;
  /** Whether pages may read the ETag of the store. */
  exposed = true;
  underWay = 0;
  most = 0;
  fault: (method: string, path: string) => Fault = () => undefined;
  private count = 0;
  page = 0;

  /** The page is gone: nothing that it has begun goes on. */
  unload(): void {
    this.page++;
    this.underWay = 0;
  }

  times(method: string, path: RegExp): number {
    return this.calls.filter((call) => call.method === method && path.test(call.path)).length;
  }

  install(): void {
    vi.stubGlobal("fetch", (url: string, how: RequestInit) => this.fetch(new Request(url, how)));
    vi.stubGlobal("XMLHttpRequest", requests(this));
  }

  private async fetch(request: Request): Promise<Response> {
    const body = request.method === "POST" ? ((await request.json().catch(() => undefined)) as unknown) : undefined;
    request.signal.throwIfAborted();
    this.most = Math.max(this.most, ++this.underWay);
    await new Promise((resolve) => setTimeout(resolve, 10));
    this.underWay--;
    request.signal.throwIfAborted();
    const given = this.answer(request.method, request.url, body, Object.fromEntries(request.headers));
    if (given === "hang") return new Promise(() => undefined);
    if (given === "cut") throw new TypeError("Failed to fetch");
    return new Response(given.text, { status: given.status, headers: given.headers });
  }

  answer(method: string, url: string, body: unknown, headers: Record<string, string>) {
    const { pathname, origin: at } = new URL(url);
    const path = at === origin ? pathname : at + pathname;
    this.calls.push({ method, path, body });
    const wrong = this.fault(method, path);
    if (wrong === "cut" || wrong === "hang") return wrong;
    if (typeof wrong === "object") {
      const text = wrong.code
        ? JSON.stringify({ success: false, error: { code: wrong.code, message: wrong.code } })
        : "<html>";
      return { status: wrong.status, headers: wrong.headers ?? {}, text };
    }
    let result: {
      status: number;
      data?: unknown;
      code?: string;
      existing?: object | undefined;
      headers?: Record<string, string>;
    };
    if (at === store) {
      if (Object.keys(headers).length > 0) throw new Error("the store gets headers that nobody signed");
      result = this.stored(pathname, (body as Blob).size);
    } else result = this.route(method, pathname, body);
    if (wrong === "lost") return "cut" as const;
    const text = JSON.stringify(
      result.code
        ? { success: false, error: { code: result.code, message: result.code, existing: result.existing } }
        : { success: true, data: result.data ?? null },
    );
    return { status: result.status, headers: result.headers ?? {}, text };
  }

  private route(method: string, path: string, body: unknown): { status: number; data?: unknown; code?: string } {
    const segments = path.split("/").slice(2);
    if (path === "/api/auth/csrf-token") return ok({ token: "t" });
    if (path === "/api/files/folder") return this.folder(body as { path: string; name: string });
    if (path === "/api/files/upload-session") return this.create(body as Record<string, string & number>);
    if (path === "/api/files/upload-complete") return this.complete(body as { sessionId: string; etag?: string });
    const id = segments[3] ?? "";
    const session = this.sessions.find((one) => one.id === id);
    if (!session) return no(404, "NOT_FOUND");
    this.expire();
    if (method === "DELETE") {
      if (session.status === "completed") return no(409, "OPERATION_FAILED");
      session.status = "aborted";
      session.key = "";
      return ok(null);
    }
    if (session.status === "expired") return no(410, "UPLOAD_SESSION_EXPIRED");
    if (session.status !== "pending") return no(409, "OPERATION_FAILED");
    if (segments[2] === "raw") {
      if ((body as Blob).size !== session.size) return no(422, "OPERATION_FAILED");
      session.raw = session.size;
      return ok({ etag: "whole", size: session.size });
    }
    if (segments[4] === "part") return this.part(session, Number(segments[5]), (body as Blob).size);
    if (segments[4] === "renew") {
      session.until = Date.now() + this.lifetime;
      return ok(this.view(session));
    }
    const missing = this.missing(session);
    return ok({
      sessionId: id,
      totalParts: session.total,
      completedCount: session.parts.size,
      parts: [...session.parts.keys()].map((partNumber) => ({ partNumber, etag: `e${partNumber}` })),
      missingParts: missing,
      presignedParts:
        session.mode === "presigned" ? missing.map((n) => ({ partNumber: n, url: `${store}/${id}/${n}` })) : [],
      uploadMode: session.mode,
    });
  }

  private folder({ path, name }: { path: string; name: string }) {
    const folder = `${path}/${name}`;
    if (!this.folders.has(path)) return no(404, "NOT_FOUND");
    if (this.folders.has(folder)) return no(409, "ALREADY_EXISTS");
    this.folders.add(folder);
    return ok({});
  }

  private create(body: Record<string, string & number>) {
    this.expire();
    const {
      path,
      fileName: name,
      fileSize: size,
      idempotencyKey: key,
      conflict,
      uploadMode,
      partCount,
    } = body as never as {
      path: string;
      fileName: string;
      fileSize: number;
      idempotencyKey: string;
      conflict: string;
      uploadMode: string;
      partCount?: number;
    };
    const old = this.sessions.find((one) => one.key === key);
    if (old && (old.path !== path || old.name !== name || old.size !== size)) return no(400, "VALIDATION_ERROR");
    if (old?.status === "completed") return ok({ ...this.view(old), alreadyCompleted: true, file: old.file });
    if (old?.status === "pending") return ok(this.view(old));
    const place = `${path}/${name}`;
    if ((conflict === "fail" && this.files.has(place)) || (conflict !== "rename" && this.folders.has(place)))
      return { ...no(409, "ALREADY_EXISTS"), existing: this.existing.get(place) };
    if (size > this.quota) return no(413, "QUOTA_EXCEEDED");
    const many = size > 0 && (partCount ?? 1) > 1;
    const session: Session = {
      id: `s${++this.count}`,
      path,
      name,
      size,
      key,
      conflict,
      mode: uploadMode === "worker" ? "worker" : this.mode,
      total: many ? Math.ceil(size / part) : null,
      parts: old?.parts ?? new Map(), // kept of the expired one
      raw: undefined,
      status: "pending",
      until: Date.now() + this.lifetime,
    };
    if (old) old.key = "";
    this.sessions.push(session);
    return ok(this.view(session));
  }

  private view(session: Session) {
    const { id, mode, total } = session;
    const direct = mode === "presigned";
    return {
      sessionId: id,
      uploadMode: mode,
      uploadId: null,
      totalParts: total,
      uploadUrl: total
        ? `${origin}/api/files/upload/multipart/${id}/part/`
        : direct
          ? `${store}/${id}`
          : `${origin}/api/files/upload/raw/${id}`,
      parts:
        direct && total
          ? Array.from({ length: total }, (_, n) => ({ partNumber: n + 1, url: `${store}/${id}/${n + 1}` }))
          : [],
      expiresAt: session.until,
      expiresIn: Math.ceil((session.until - Date.now()) / 1000),
    };
  }

  private part(session: Session, number: number, size: number) {
    const want = Math.min(part, session.size - (number - 1) * part);
    if (size !== want) return no(422, "OPERATION_FAILED");
    session.parts.set(number, size);
    return ok({ partNumber: number, etag: `e${number}` });
  }

  private stored(path: string, size: number) {
    const [, id, number] = path.split("/");
    const session = this.sessions.find((one) => one.id === id)!;
    if (number) this.part(session, Number(number), size);
    else session.raw = size;
    const headers: Record<string, string> = this.exposed ? { etag: number ? `e${number}` : "whole" } : {};
    return { status: 200, headers };
  }

  private missing(session: Session): number[] {
    return Array.from({ length: session.total ?? 0 }, (_, n) => n + 1).filter((n) => !session.parts.has(n));
  }

  private complete({ sessionId, etag }: { sessionId: string; etag?: string }) {
    const session = this.sessions.find((one) => one.id === sessionId);
    this.expire();
    if (!session) return no(404, "NOT_FOUND");
    if (session.status === "completed") return ok({ file: session.file, alreadyCompleted: true });
    if (session.status === "expired") return no(410, "UPLOAD_SESSION_EXPIRED");
    if (session.status !== "pending") return no(409, "OPERATION_FAILED");
    if (session.total === null && !etag) return no(400, "VALIDATION_ERROR");
    if (session.total === null ? session.raw !== session.size : this.missing(session).length > 0)
      return no(422, "OPERATION_FAILED");
    let { name } = session;
    const taken = (one: string) => [this.files, this.folders].some((all) => all.has(`${session.path}/${one}`));
    if (taken(name) && session.conflict === "fail") return no(409, "ALREADY_EXISTS");
    for (let n = 1; taken(name) && session.conflict === "rename"; n++)
      name = session.name.replace(/(\.\w+)?$/, ` (${n})$1`);
    this.files.set(`${session.path}/${name}`, session.size);
    session.status = "completed";
    session.file = { id: `f-${name}`, name, path: session.path, size: session.size };
    return ok({ file: session.file });
  }

  private expire(): void {
    for (const one of this.sessions) if (one.status === "pending" && Date.now() >= one.until) one.status = "expired";
  }
}

function ok(data: unknown) {
  return { status: 200, data };
}

function no(status: number, code: string) {
  return { status, code };
}

/** XMLHttpRequest, as far as uploads go: a body goes out in four steps, then the answer comes. */
function requests(server: Server) {
  return class {
    upload: { onprogress?: (event: { loaded: number }) => void; onload?: () => void } = {};
    onload?: () => void;
    onerror?: () => void;
    status = 0;
    responseText = "";
    private url = "";
    private method = "";
    private headers: Record<string, string> = {};
    private sent: Record<string, string> = {};
    private page = server.page;
    private stopped = false;
    private get aborted() {
      return this.stopped || this.page !== server.page;
    }
    open(method: string, url: string) {
      this.method = method;
      this.url = new URL(url, origin).href;
    }
    setRequestHeader(name: string, value: string) {
      this.sent[name] = value;
    }
    getAllResponseHeaders() {
      return Object.entries(this.headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("");
    }
    abort() {
      if (!this.aborted) server.underWay--;
      this.stopped = true;
    }
    send(body: Blob) {
      server.most = Math.max(server.most, ++server.underWay);
      const step = (n: number) => {
        if (this.aborted) return;
        if (n < 4) {
          this.upload.onprogress?.({ loaded: (body.size * n) / 4 });
          setTimeout(step, 20, n + 1);
          return;
        }
        const given = server.answer(this.method, this.url, body, this.sent);
        if (given === "hang") return;
        this.stopped = true;
        server.underWay--;
        if (given === "cut") return this.onerror?.();
        this.upload.onprogress?.({ loaded: body.size });
        this.upload.onload?.();
        this.status = given.status;
        this.headers = given.headers;
        this.responseText = given.text;
        this.onload?.();
      };
      setTimeout(step, 20, 1);
    }
  };
}
