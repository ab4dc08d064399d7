/**
 * What of the queue outlives the page: what is to go where, in IndexedDB. Not the bytes: the browser has to be handed the file again, or a handle that
 * it keeps is asked. Without IndexedDB (private windows of some browsers) nothing is kept, and all else works.
 */
export interface Kept {
  id: string;
  key: string;
  /** Whose it is: several people may use a browser. */
  user: string;
  /** The tab that it is being uploaded in. */
  tab: string;
  batch: { id: string; path: string; at: number };
  relPath: string;
  size: number;
  mtime: number;
  conflict: "fail" | "replace" | "rename";
  begun: boolean;
  sessionId?: string | undefined;
  paused: boolean;
  /** The order in which they were added. */
  order: number;
  handle?: FileSystemFileHandle | undefined;
}

const name = "larder-uploads";
const table = "items";

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

  /** Runs one transaction. Resolves when it is over, however it went: what is not kept is no reason to stop. */
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

  put(all: Kept[]): Promise<void> {
    return this.write((items) => {
      for (const one of all) items.put(one);
    });
  }

  remove(ids: string[]): Promise<void> {
    return this.write((items) => {
      for (const id of ids) items.delete(id);
    });
  }

  /**
   * Makes those a tab's that are a person's and no living tab's, and resolves to them. One transaction, and those of all tabs come one after the
   * other: no two get the same.
   */
  async claim(user: string, tab: string, living: (tab: string) => boolean): Promise<Kept[]> {
    const mine: Kept[] = [];
    await this.write((items) => {
      const request = items.getAll() as IDBRequest<Kept[]>;
      request.onsuccess = () => {
        for (const one of request.result) {
          if (one.user !== user || one.tab === tab || living(one.tab)) continue;
          one.tab = tab;
          items.put(one);
          mine.push(one);
        }
      };
    });
    return mine.sort((a, b) => a.batch.at - b.batch.at || a.order - b.order);
  }
}
