/**
 * Received files: those that the user has sent to the installed app from another app of the device.
 * The service worker keeps them in IndexedDB, and the page uploads them when the user has chosen a
 * folder. They are removed when they are uploaded, when the user cancels the upload or the question
 * about the folder, when a new delivery needs the room, and at the next start of the page after a
 * day. The files of one delivery arrive together.
 */
import type { Offered } from "./upload/item";

/** Identifies a received file: the id of its delivery and its position in that. */
export type ReceivedKey = [delivery: string, n: number];

/** A file in the database. */
interface Kept {
  key: ReceivedKey;
  /** The time at which the delivery arrived, in ms. */
  at: number;
  /** A name of its own in the delivery. */
  name: string;
  /** The time at which the file was changed, in ms. */
  modified: number;
  content: Blob;
}

/** A received file that can be uploaded. */
export type Received = Offered & { received: ReceivedKey };

/** The bounds of all kept files together: their number, their bytes, and their age in ms. */
export const bounds = { files: 500, bytes: 4 * 1024 ** 3, age: 24 * 3600_000 };

const table = "files";

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("larder-received", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(table, { keyPath: "key" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = request.onblocked = () => reject(request.error ?? new Error("the database is blocked"));
  });
}

/** Runs one transaction. Resolves to the result of the request that `work` returns. */
async function transact<Result>(
  mode: IDBTransactionMode,
  work: (files: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const db = await open();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = db.transaction(table, mode);
      const request = work(transaction.objectStore(table));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = transaction.onerror = () => reject(transaction.error ?? new Error("aborted"));
    });
  } finally {
    db.close();
  }
}

/** The keys of a delivery. */
const keysOf = (delivery: string) => IDBKeyRange.bound([delivery], [delivery, Infinity]);

/** Removes some files. */
export async function dropReceived(keys: readonly ReceivedKey[]): Promise<void> {
  if (keys.length > 0) await transact("readwrite", (files) => keys.map((key) => files.delete(key)).at(-1)!);
}

/** Removes all files of a delivery. */
export async function dropDelivery(delivery: string): Promise<void> {
  await transact("readwrite", (files) => files.delete(keysOf(delivery)));
}

/**
 * Removes the deliveries that are older than a day, and the oldest others until there is room for
 * `files` more with `bytes` in all.
 */
export async function sweepReceived(files = 0, bytes = 0, now = Date.now()): Promise<void> {
  const deliveries = new Map<string, { at: number; files: number; bytes: number }>();
  for (const { key, at, content } of await transact<Kept[]>("readonly", (files) => files.getAll())) {
    const sum = deliveries.get(key[0]) ?? { at, files: 0, bytes: 0 };
    deliveries.set(key[0], { at, files: sum.files + 1, bytes: sum.bytes + content.size });
  }
  let left = { files: bounds.files - files, bytes: bounds.bytes - bytes };
  for (const [delivery, sum] of [...deliveries].sort(([, a], [, b]) => b.at - a.at)) {
    left = { files: left.files - sum.files, bytes: left.bytes - sum.bytes };
    if (left.files < 0 || left.bytes < 0 || now - sum.at > bounds.age) await dropDelivery(delivery);
  }
}

/**
 * Keeps the files of a delivery. Resolves to the query of the page that goes on: the id of the
 * delivery, or the problem. Rejects if the browser cannot keep them.
 */
export async function keepReceived(given: readonly File[], now = Date.now()): Promise<string> {
  const some = given.filter(({ name, size }) => name !== "" || size > 0); // a form without a file has an empty one
  const bytes = some.reduce((sum, { size }) => sum + size, 0);
  if (some.length === 0) return "problem=nothing";
  if (some.length > bounds.files || bytes > bounds.bytes) return "problem=large";
  await sweepReceived(some.length, bytes, now);
  const delivery = crypto.randomUUID();
  const names = uniqueNames(some.map(({ name }) => name));
  await transact("readwrite", (files) => {
    const puts = some.map((content, n) => {
      const kept: Kept = { key: [delivery, n], at: now, name: names[n]!, modified: content.lastModified, content };
      return files.put(kept);
    });
    return puts.at(-1)!;
  });
  return `delivery=${delivery}`;
}

function asReceived({ key, name, modified, content }: Kept): Received {
  const file = new File([content], name, { type: content.type, lastModified: modified });
  return { file, relPath: name, received: key };
}

/** The kept files of a delivery in their order. */
export async function receivedFiles(delivery: string): Promise<Received[]> {
  return (await transact<Kept[]>("readonly", (files) => files.getAll(keysOf(delivery)))).map(asReceived);
}

/** A kept file; undefined if it is removed. */
export async function receivedFile(key: ReceivedKey): Promise<Received | undefined> {
  const kept = await transact<Kept | undefined>("readonly", (files) => files.get(key));
  return kept && asReceived(kept);
}

/**
 * Names for files of one folder: without the folders that an app may write before them, and with a
 * number where a name occurs again, as in "image (2).jpg".
 */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((given) => {
    const name = given.split(/[/\\]/).at(-1)!.trim() || "file";
    const dot = name.lastIndexOf(".");
    const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
    let unique = name;
    for (let n = 2; taken.has(unique); n++) unique = `${stem} (${n})${extension}`;
    taken.add(unique);
    return unique;
  });
}
