/** The files and folders that the text of the command list finds. */
import { client, take } from "../../lib/api";
import type { Entry } from "../../lib/entry";

const pause = 200; // ms after the last key
const most = 6;

export interface Entries {
  folders: readonly Entry[];
  files: readonly Entry[];
}

const nothing: Entries = { folders: [], files: [] };

export class Found {
  #entries = $state.raw(nothing);
  /** The text whose answer has come. */
  #text = $state("");
  problem = $state.raw<unknown>();

  /** Searches after a pause. Returns a function that ends the search. */
  search(text: string): (() => void) | undefined {
    if (text === "") return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => void this.#ask(text, stop.signal), pause);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }

  /** Asks for the entries that were changed last: of many results, these are wanted most often. */
  async #ask(text: string, signal: AbortSignal): Promise<void> {
    const page = async (type: "folder" | "file") => {
      const query = { path: "/", page: 1, limit: most, type, sort: "time", order: "desc", search: text } as const;
      return (await take(client.GET("/api/files", { params: { query }, signal }))).items;
    };
    try {
      const [folders, files] = await Promise.all([page("folder"), page("file")]);
      if (signal.aborted) return;
      this.#entries = { folders, files };
      this.problem = undefined;
    } catch (cause) {
      if (signal.aborted) return;
      this.#entries = nothing;
      this.problem = cause;
    }
    this.#text = text;
  }

  /** The entries of the last answer whose names contain a text. */
  of(text: string): Entries {
    const { folders, files } = this.#entries;
    if (text === this.#text) return this.#entries;
    const fits = ({ name }: Entry) => name.toLocaleLowerCase().includes(text.toLocaleLowerCase());
    return { folders: folders.filter(fits), files: files.filter(fits) };
  }

  /** Reports whether the answer for a text has come. */
  complete(text: string): boolean {
    return this.#text === text;
  }
}
