/**
 * The transfer of one file: a session, its bytes, completion.
 *
 * After an interruption the transfer asks for the session with the same idempotency key. The server
 * returns the open session, or a new one with the parts of an expired one, or the file when it was
 * complete. After an interruption the page never relies on its own list of parts: it asks the
 * server.
 */
import { client, Failure, take, type Schemas } from "../api";
import { markUnreachable, isProvenReachable, markReachable, unreachable } from "./stores";
import { partsFrom, partSize, requestsAtOnce, type Entry, type Item } from "./item";
import { isTemporary, withRetry, type Slots } from "./retry";
import { putToService, putToStore } from "./put";

type Session = Schemas["ApiCreateSessionReply"];

/** A session lasts an hour; it is renewed when less than this is left. */
const renewBefore = 15 * 60_000;

/** The services of the queue that a transfer uses. */
export interface TransferContext {
  signal: AbortSignal;
  slots: Slots;
  /** Redraws the item. */
  changed(): void;
  /** Reports bytes sent. */
  moved(bytes: number): void;
  /** Stores the item for the next page load. */
  keep(): Promise<void>;
}

/** Uploads a file. Throws Failure, and the signal's reason. */
export async function transfer(item: Item, context: TransferContext): Promise<Entry> {
  const sentParts = new Set<number>(); // parts that were sent, whether or not they arrived
  for (let expired = 0, broken = 0; ;) {
    const resumed = item.begun;
    const before = item.sent;
    const session = await open(item, context);
    if (session.alreadyCompleted && session.file) return session.file;
    try {
      return await deliver(item, session, resumed, sentParts, context);
    } catch (cause) {
      context.signal.throwIfAborted();
      if (!(cause instanceof Failure)) throw cause;
      if (cause.code === "UPLOAD_SESSION_EXPIRED") {
        expired = item.sent > before ? 0 : expired + 1;
        if (expired > 2) throw cause;
        item.again = 1; // until the server has reported the parts that it has kept
      } else if ((cause.status !== 404 && cause.status !== 422) || ++broken > 1) throw cause;
    }
  }
}

async function open(item: Item, context: TransferContext): Promise<Session> {
  item.state = "starting";
  item.sent = 0;
  item.begun = true;
  context.changed();
  await context.keep();
  const session = await withRetry(context.signal, () =>
    context.slots.use(context.signal, () =>
      take(
        client.POST("/api/files/upload-session", {
          body: {
            path: item.folder,
            fileName: item.name,
            fileSize: item.size,
            mimeType: item.file?.type || undefined,
            partCount: item.size >= partsFrom ? Math.ceil(item.size / partSize) : undefined,
            idempotencyKey: item.key,
            conflict: item.conflict,
            uploadMode: item.batch.indirect ? "worker" : "auto",
          },
          signal: context.signal,
        }),
      ),
    ),
  );
  item.sessionId = session.sessionId;
  return session;
}

async function deliver(
  item: Item,
  session: Session,
  resumed: boolean,
  sentParts: Set<number>,
  context: TransferContext,
): Promise<Entry> {
  item.state = "uploading";
  context.changed();
  const body =
    session.totalParts === null
      ? { etag: await whole(item, session, context) }
      : { parts: await inParts(item, session, session.totalParts, resumed, sentParts, context) };
  item.state = "finishing";
  context.changed();
  const { file } = await withRetry(context.signal, () =>
    context.slots.use(context.signal, () =>
      take(
        client.POST("/api/files/upload-complete", {
          body: { sessionId: session.sessionId, ...body },
          signal: context.signal,
        }),
      ),
    ),
  );
  return file;
}

function whole(item: Item, session: Session, context: TransferContext): Promise<string> {
  return piece(item, context, {
    from: 0,
    to: item.size,
    direct: session.uploadMode === "presigned" ? session.uploadUrl : undefined,
    path: `/api/files/upload/raw/${session.sessionId}`,
    progress: (loaded) => {
      item.sent = Math.min(loaded, item.size);
      context.changed();
    },
  });
}

/** Sends the parts that the server does not have. Resolves to all parts. */
async function inParts(
  item: Item,
  session: Session,
  total: number,
  resumed: boolean,
  sentParts: Set<number>,
  context: TransferContext,
) {
  const { signal } = context;
  const etags = new Map<number, string>();
  const urls = new Map(session.parts.map((part) => [part.partNumber, part.url]));
  const path = { sessionId: session.sessionId };
  if (resumed) {
    const there = await withRetry(signal, () =>
      context.slots.use(signal, () =>
        take(client.GET("/api/files/upload/multipart/{sessionId}/parts", { params: { path }, signal })),
      ),
    );
    for (const part of there.parts) etags.set(part.partNumber, part.etag);
    for (const part of there.presignedParts) urls.set(part.partNumber, part.url);
    if (item.again !== undefined) item.again = [...sentParts].filter((number) => !etags.has(number)).length;
  }
  const length = (number: number) => Math.min(partSize, item.size - (number - 1) * partSize);
  const underWay = new Map<number, number>();
  const count = () => {
    let sent = 0;
    for (const number of etags.keys()) sent += length(number);
    for (const loaded of underWay.values()) sent += loaded;
    item.sent = sent;
    item.parts = { done: etags.size, total };
    context.changed();
  };
  count();

  let until = Date.now() + session.expiresIn * 1000;
  let renewing: Promise<void> | undefined;
  const renew = async () => {
    try {
      const fresh = await take(
        client.POST("/api/files/upload/multipart/{sessionId}/renew", { params: { path }, signal }),
      );
      until = Date.now() + fresh.expiresIn * 1000;
      for (const part of fresh.parts) urls.set(part.partNumber, part.url);
    } catch (cause) {
      signal.throwIfAborted();
      if (!(cause instanceof Failure)) throw cause;
      // the session has reached its limit of a day: continue while it lasts; the server keeps its
      // parts for the next session
      until = Infinity;
    }
  };

  const missing = Array.from({ length: total }, (_, n) => n + 1).filter((number) => !etags.has(number));
  const work = async (): Promise<void> => {
    for (let number = missing.shift(); number !== undefined; number = missing.shift()) {
      if (until - Date.now() < renewBefore) await (renewing ??= renew().finally(() => (renewing = undefined)));
      const own = number;
      sentParts.add(own);
      const etag = await piece(item, context, {
        from: (own - 1) * partSize,
        to: (own - 1) * partSize + length(own),
        direct: urls.get(own),
        path: `/api/files/upload/multipart/${session.sessionId}/part/${own}`,
        progress: (loaded) => {
          underWay.set(own, Math.min(loaded, length(own)));
          count();
        },
      });
      underWay.delete(own);
      etags.set(own, etag);
      count();
    }
  };
  const workers = Array.from({ length: Math.min(requestsAtOnce, missing.length) }, async () => {
    try {
      await work();
    } catch (cause) {
      // the other workers finish their current part, so it need not be sent again
      missing.length = 0;
      throw cause;
    }
  });
  const ends = await Promise.allSettled(workers);
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
  return [...etags].sort(([a], [b]) => a - b).map(([partNumber, etag]) => ({ partNumber, etag }));
}

interface Piece {
  from: number;
  to: number;
  /** The pre-signed address at the store, where there is one. */
  direct: string | undefined;
  /** The path at the service. */
  path: string;
  progress: (loaded: number) => void;
}

/**
 * Sends a range of bytes to the store if it can be reached, else through the service. Resolves to
 * the ETag.
 */
async function piece(
  item: Item,
  context: TransferContext,
  { from, to, direct, path, progress }: Piece,
): Promise<string> {
  const { signal, slots } = context;
  const file = item.file!;
  // A slice has no type: a type would add a header that the address was not signed for and that
  // CORS would have to allow.
  const bytes = file.slice(from, to);
  let last = 0;
  const told = (loaded: number) => {
    context.moved(Math.max(0, loaded - last));
    last = loaded;
    progress(loaded);
  };
  const how = { progress: told, signal };
  let blocked = false;
  if (direct && !unreachable(direct)) {
    try {
      const etag = await withRetry(signal, () =>
        slots.use(signal, async () => {
          try {
            return await putToStore(direct, bytes, how);
          } catch (cause) {
            told(0);
            const cut = cause instanceof Failure && cause.code === "NETWORK" && navigator.onLine;
            // No upload to this store has succeeded yet, so the store may be unreachable for good.
            if (cut && !isProvenReachable(direct)) throw new Failure("STORE", "The store cannot be reached.");
            throw cause;
          }
        }),
      );
      if (etag) {
        markReachable(direct);
        return etag;
      }
      blocked = true;
    } catch (cause) {
      signal.throwIfAborted();
      if (!(cause instanceof Failure) || cause.code === "NETWORK") throw cause;
      blocked = cause.status === 0 || isTemporary(cause);
    }
    await readable(file);
  } else if (direct) item.batch.indirect = true;
  told(0);
  const { etag } = await withRetry(signal, () =>
    slots.use(signal, async () => {
      try {
        return await putToService<{ etag: string }>(path, bytes, file.type || "application/octet-stream", how);
      } catch (cause) {
        told(0);
        if (cause instanceof Failure && cause.code === "NETWORK") await readable(file);
        throw cause;
      }
    }),
  );
  if (blocked && direct) {
    markUnreachable(direct); // the service accepted what the store did not
    item.batch.indirect = true;
  }
  return etag;
}

/**
 * A request fails in the same way when the network breaks and when the file was changed or removed.
 * Reading the file tells the two cases apart.
 */
async function readable(file: File): Promise<void> {
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    throw new Failure("FILE_CHANGED", "The file has been changed or removed.");
  }
}

/** Deletes a session on the server. A session that cannot be deleted expires by itself. */
export async function abandon(item: Item): Promise<void> {
  const { sessionId } = item;
  item.sessionId = undefined;
  item.begun = false;
  if (!sessionId) return;
  await take(client.DELETE("/api/files/upload/multipart/{sessionId}", { params: { path: { sessionId } } })).catch(
    () => undefined,
  );
}
