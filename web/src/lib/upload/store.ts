/**
 * The part of the queue that survives the page: the targets and sessions of uploads, in IndexedDB.
 * It does not hold the bytes: the user chooses the file again, a stored handle gives access to it,
 * or it is among the received files, from which it is removed together with the item. Without
 * IndexedDB (private windows of some browsers) nothing is stored, and everything else works.
 */
import { dropReceived, type ReceivedKey } from "../received";

export interface StoredItem {
  id: string;
  key: string;
  /** The owner: several users may share a browser. */
  user: string;
  /** The tab that uploads it. */
  tab: string;
  batch: { id: string; path: string; at: number };
  relPath: string;
  size: number;
  mtime: number;
  conflict: "fail" | "replace" | "rename";
  begun: boolean;
  sessionId?: string | undefined;
  paused: boolean;
  /** The order in which the items were added. */
  order: number;
  handle?: FileSystemFileHandle | undefined;
  received?: ReceivedKey | undefined;
}

const name = "larder-uploads";
const table = "items";
/**
 * The key in localStorage of the batches that were cancelled, each with its tab. A transaction that
 * removes thousands of items is undone when the page is closed before it ends; this note stays.
 */
const cancelled = "larder.uploads.cancelled";

export class Store {
  private opened: Promise<IDBDatabase | undefined> | undefined;

  private open(): Promise<IDBDatabase | undefined> {
    return (this.opened ??= new Promise((resolve) => {
      try {
        const request = indexedDB.open(name, 1);
        request.onupgradeneeded = () => request.result.createObjectStore(table, { keyPath: "id" });
        request.onsuccess = () => resolve(request.result);
        request.onerror = request.onblocked = () => resolve(undefined);
      } catch {
        resolve(undefined);
      }
    }));
  }

  /**
   * Runs one transaction. Resolves when it ends, also when it fails: an item that is not stored
   * must not stop the upload.
   */
  private async write(work: (items: IDBObjectStore) => void): Promise<void> {
    const db = await this.open();
    if (!db) return;
    await new Promise<void>((resolve) => {
      try {
        const transaction = db.transaction(table, "readwrite");
        transaction.oncomplete = transaction.onabort = transaction.onerror = () => resolve();
        work(transaction.objectStore(table));
      } catch {
        resolve(); // the disk is full, or the browser is closing the database
      }
    });
  }

  put(all: StoredItem[]): Promise<void> {
    return this.write((items) => {
      for (const one of all) items.put(one);
    });
  }

  async remove(all: readonly Pick<StoredItem, "id" | "received">[]): Promise<void> {
    const received = all.map((one) => one.received).filter((key) => key !== undefined);
    await Promise.all([
      this.write((items) => {
        for (const { id } of all) items.delete(id);
      }),
      dropReceived(received).catch(() => undefined), // they are removed after a day
    ]);
  }

  /** Notes that no item of these batches is wanted any more, also if remove comes too late. */
  noteCancelled(batches: string[], tab: string): void {
    keepCancelled({ ...readCancelled(), ...Object.fromEntries(batches.map((id) => [id, tab])) });
  }

  /**
   * Claims for this tab all of the user's items whose tab is closed, and resolves to them. The
   * claim is one transaction, and transactions of all tabs run one after the other, so two tabs
   * never claim the same item.
   */
  async claim(user: string, tab: string, isAlive: (tab: string) => boolean): Promise<StoredItem[]> {
    const mine: StoredItem[] = [];
    const gone: StoredItem[] = [];
    const unwanted = readCancelled();
    await this.write((items) => {
      const request = items.getAll() as IDBRequest<StoredItem[]>;
      request.onsuccess = () => {
        for (const one of request.result) {
          if (one.user !== user || one.tab === tab || isAlive(one.tab)) continue;
          if (unwanted[one.batch.id] !== undefined) {
            gone.push(one);
            continue;
          }
          one.tab = tab;
          items.put(one);
          mine.push(one);
        }
      };
    });
    if (gone.length > 0) await this.remove(gone);
    keepCancelled(Object.fromEntries(Object.entries(readCancelled()).filter(([, of]) => of === tab || isAlive(of))));
    return mine.sort((a, b) => a.batch.at - b.batch.at || a.order - b.order);
  }
}

function readCancelled(): Record<string, string> {
  try {
    return JSON.parse(localStorage.getItem(cancelled) ?? "{}") as Record<string, string>;
  } catch {
    return {};
  }
}

function keepCancelled(batches: Record<string, string>): void {
  try {
    if (Object.keys(batches).length > 0) localStorage.setItem(cancelled, JSON.stringify(batches));
    else localStorage.removeItem(cancelled);
  } catch {
    // without storage nothing outlives the page
  }
}
