/** Entries of the account's tree that are in different folders: its favourites and recent files. */
import { client, take } from "../api";
import type { Entry } from "../entry";
import { account } from "./account";
import type { Reader, Source } from "./source";

/** The most favourites of an account. */
const mostFavourites = 1000;

/** A reader of entries that come in one answer. */
function whole(load: (signal: AbortSignal) => Promise<readonly Entry[]>): Reader {
  let loading: Promise<readonly Entry[]> | undefined;
  return {
    split: true,
    async page(kind, nth, limit, signal) {
      const all = (await (loading ??= load(signal))).filter(({ type }) => type === kind);
      return { items: all.slice(nth * limit, (nth + 1) * limit), total: all.length, folder: null, mount: null };
    },
  };
}

const can = { search: false, filter: false, sort: false, paths: true, edit: true };

/** The newest star first. */
export const favourites: Source = {
  ...account,
  can,
  state: () => "",
  read: () =>
    whole(async (signal) => {
      const params = { query: { limit: mostFavourites } };
      return (await take(client.GET("/api/users/me/favourites", { params, signal }))).items;
    }),
};

/** The files of the account that were stored or changed last, the newest first. */
export const recent: Source = {
  ...account,
  can,
  state: () => "",
  read: () => whole(async (signal) => (await take(client.GET("/api/files/recent", { signal }))).items),
};
