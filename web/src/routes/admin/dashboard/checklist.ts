/** The checklist of a new site: each item is done when the facts say so. */

export const items = ["upload", "base", "mail", "backup", "people", "key", "share"] as const;
export type Item = (typeof items)[number];

export interface Facts {
  files: number;
  users: number;
  invites: number;
  /** Active keys that clients can upload images with. */
  keys: number;
  shares: number;
  sendsMail: boolean;
  hasBackup: boolean;
  /** The address that links begin with. */
  baseUrl: string;
  /** The origin of the page. */
  here: string;
}

/** Reports whether only the machine of the server can open an address. */
export function isLocal(address: string): boolean {
  const { hostname } = new URL(address);
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** The items that are done. */
export function doneItems(facts: Facts): ReadonlySet<Item> {
  const { baseUrl } = facts;
  const done: Record<Item, boolean> = {
    upload: facts.files > 0,
    base: !isLocal(baseUrl) && new URL(baseUrl).origin === facts.here,
    mail: facts.sendsMail,
    backup: facts.hasBackup,
    people: facts.users > 1 || facts.invites > 0,
    key: facts.keys > 0,
    share: facts.shares > 0,
  };
  return new Set(items.filter((item) => done[item]));
}
