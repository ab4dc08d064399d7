/**
 * The way of one file: a session, its bytes, completion.
 *
 * Whatever breaks on the way is taken up again by asking for the session with the same idempotency key: the server answers with the one that is open,
 * with a new one that has taken over the parts of an expired one, or with the file when all was well already. What it has of a session in parts, it
 * says itself; this page's own idea of that is never trusted after a break.
 */
import { client, Failure, take, type Schemas } from "../api";
import { giveUp, isProven, prove, unreachable } from "./stores";
import { partsFrom, partSize, requestsAtOnce, type Entry, type Item } from "./item";
import { passes, persevere, type Slots } from "./patience";
import { putToService, putToStore } from "./put";

type Session = Schemas["ApiCreateSessionReply"];

/** A session of an hour is renewed when less is left of it than this. */
const renewBefore = 15 * 60_000;

/** What the queue lends to a transfer. */
export interface Ground {
  signal: AbortSignal;
  slots: Slots;
  /** The item is to be drawn anew. */
  changed(): void;
  /** Bytes have gone out. */
  moved(bytes: number): void;
  /** The item is to be kept as it is over a reload. */
  keep(): Promise<void>;
}

/** Uploads a file. Throws Failure, and the signal's reason. */
export async function transfer(item: Item, ground: Ground): Promise<Entry> {
  const gone = new Set<number>(); // parts that have gone out, if not arrived
  for (let expired = 0, broken = 0; ;) {
    const resumed = item.begun;
    const before = item.sent;
    const session = await open(item, ground);
    if (session.alreadyCompleted && session.file) return session.file;
    try {
      return await deliver(item, session, resumed, gone, ground);
    } catch (cause) {
      ground.signal.throwIfAborted();
      if (!(cause instanceof Failure)) throw cause;
      if (cause.code === "UPLOAD_SESSION_EXPIRED") {
        expired = item.sent > before ? 0 : expired + 1;
        if (expired > 2) throw cause;
        item.again = 1; // until the server has said what it has kept
      } else if ((cause.status !== 404 && cause.status !== 422) || ++broken > 1) throw cause;
    }
  }
}

async function open(item: Item, ground: Ground): Promise<Session> {
  item.state = "starting";
  item.sent = 0;
  item.begun = true;
  ground.changed();
  await ground.keep();
  const session = await persevere(ground.signal, () =>
    ground.slots.use(ground.signal, () =>
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
          signal: ground.signal,
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
  gone: Set<number>,
  ground: Ground,
): Promise<Entry> {
  item.state = "uploading";
  ground.changed();
  const body =
    session.totalParts === null
      ? { etag: await whole(item, session, ground) }
      : { parts: await inParts(item, session, session.totalParts, resumed, gone, ground) };
  item.state = "finishing";
  ground.changed();
  const { file } = await persevere(ground.signal, () =>
    ground.slots.use(ground.signal, () =>
      take(
        client.POST("/api/files/upload-complete", {
          body: { sessionId: session.sessionId, ...body },
          signal: ground.signal,
        }),
      ),
    ),
  );
  return file;
}

function whole(item: Item, session: Session, ground: Ground): Promise<string> {
  return piece(item, ground, {
    from: 0,
    to: item.size,
    direct: session.uploadMode === "presigned" ? session.uploadUrl : undefined,
    path: `/api/files/upload/raw/${session.sessionId}`,
    progress: (loaded) => {
      item.sent = Math.min(loaded, item.size);
      ground.changed();
    },
  });
}

/** Sends the parts that the server does not have. Resolves to all of them. */
async function inParts(
  item: Item,
  session: Session,
  total: number,
  resumed: boolean,
  gone: Set<number>,
  ground: Ground,
) {
  const { signal } = ground;
  const etags = new Map<number, string>();
  const urls = new Map(session.parts.map((part) => [part.partNumber, part.url]));
  const path = { sessionId: session.sessionId };
  if (resumed) {
    const there = await persevere(signal, () =>
      ground.slots.use(signal, () =>
        take(client.GET("/api/files/upload/multipart/{sessionId}/parts", { params: { path }, signal })),
      ),
    );
    for (const part of there.parts) etags.set(part.partNumber, part.etag);
    for (const part of there.presignedParts) urls.set(part.partNumber, part.url);
    if (item.again !== undefined) item.again = [...gone].filter((number) => !etags.has(number)).length;
  }
  const length = (number: number) => Math.min(partSize, item.size - (number - 1) * partSize);
  const underWay = new Map<number, number>();
  const count = () => {
    let sent = 0;
    for (const number of etags.keys()) sent += length(number);
    for (const loaded of underWay.values()) sent += loaded;
    item.sent = sent;
    item.parts = { done: etags.size, total };
    ground.changed();
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
      until = Infinity; // its day is over: it goes on while it lasts, and what has come in is kept for the next session
    }
  };

  const missing = Array.from({ length: total }, (_, n) => n + 1).filter((number) => !etags.has(number));
  const work = async (): Promise<void> => {
    for (let number = missing.shift(); number !== undefined; number = missing.shift()) {
      if (until - Date.now() < renewBefore) await (renewing ??= renew().finally(() => (renewing = undefined)));
      const own = number;
      gone.add(own);
      const etag = await piece(item, ground, {
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
      missing.length = 0; // the others end with the part that they are at, which then need not be sent again
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
  /** The address at the store, where there is one. */
  direct: string | undefined;
  /** Where the service takes it. */
  path: string;
  progress: (loaded: number) => void;
}

/** Sends some bytes, to the store where that works, else through the service. Resolves to their ETag. */
async function piece(item: Item, ground: Ground, { from, to, direct, path, progress }: Piece): Promise<string> {
  const { signal, slots } = ground;
  const file = item.file!;
  // A slice has no type: one would be a header that the address was not signed for, and that CORS would have to allow.
  const bytes = file.slice(from, to);
  let last = 0;
  const told = (loaded: number) => {
    ground.moved(Math.max(0, loaded - last));
    last = loaded;
    progress(loaded);
  };
  const how = { progress: told, signal };
  let blocked = false;
  if (direct && !unreachable(direct)) {
    try {
      const etag = await persevere(signal, () =>
        slots.use(signal, async () => {
          try {
            return await putToStore(direct, bytes, how);
          } catch (cause) {
            told(0);
            const cut = cause instanceof Failure && cause.code === "NETWORK" && navigator.onLine;
            // Where nothing has gone through yet it may well be that nothing ever will.
            if (cut && !isProven(direct)) throw new Failure("STORE", "The store cannot be reached.");
            throw cause;
          }
        }),
      );
      if (etag) {
        prove(direct);
        return etag;
      }
      blocked = true;
    } catch (cause) {
      signal.throwIfAborted();
      if (!(cause instanceof Failure) || cause.code === "NETWORK") throw cause;
      blocked = cause.status === 0 || passes(cause);
    }
    await readable(file);
  } else if (direct) item.batch.indirect = true;
  told(0);
  const { etag } = await persevere(signal, () =>
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
    giveUp(direct); // since the service took what the store did not
    item.batch.indirect = true;
  }
  return etag;
}

/** A file that was changed or removed since it was chosen fails as the network does; it is told apart by reading of it. */
async function readable(file: File): Promise<void> {
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    throw new Failure("FILE_CHANGED", "The file has been changed or removed.");
  }
}

/** Has the server forget a session. What cannot be told it, it forgets by itself in time. */
export async function abandon(item: Item): Promise<void> {
  const { sessionId } = item;
  item.sessionId = undefined;
  item.begun = false;
  if (!sessionId) return;
  await take(client.DELETE("/api/files/upload/multipart/{sessionId}", { params: { path: { sessionId } } })).catch(
    () => undefined,
  );
}
