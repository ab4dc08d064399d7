/** How folders are shown: remembered for each, with a default for those where nothing was chosen. Kept in this browser. */
import type { Order, Sort } from "./listing.svelte";

export interface View {
  shape: "grid" | "list";
  tile: "s" | "m" | "l";
  sort?: Sort | undefined;
  order?: Order | undefined;
}

interface Kept {
  usual: View;
  /** Latest last. */
  folders: [path: string, view: View][];
  /** A single click opens. */
  single: boolean;
  /** Keys without Ctrl or Alt that do something. */
  keys: boolean;
}

const name = "larder.views";
const most = 300;

function load(): Kept {
  const fallback: Kept = { usual: { shape: "grid", tile: "m" }, folders: [], single: false, keys: true };
  try {
    return { ...fallback, ...(JSON.parse(localStorage.getItem(name) ?? "{}") as Partial<Kept>) };
  } catch {
    return fallback;
  }
}

let kept = $state.raw(load());

function keep(changes: Partial<Kept>): void {
  kept = { ...kept, ...changes };
  try {
    localStorage.setItem(name, JSON.stringify(kept));
  } catch {
    // it holds until the page is closed
  }
}

export const views = {
  of(path: string): View {
    return kept.folders.find(([one]) => one === path)?.[1] ?? kept.usual;
  },
  set(path: string, changes: Partial<View>): void {
    const others = kept.folders.filter(([one]) => one !== path);
    keep({ folders: [...others, [path, { ...views.of(path), ...changes }] as [string, View]].slice(-most) });
  },
  /** Makes how a folder is shown how all are. */
  useEverywhere(path: string): void {
    keep({ usual: views.of(path), folders: [] });
  },
  get single() {
    return kept.single;
  },
  set single(to: boolean) {
    keep({ single: to });
  },
  get keys() {
    return kept.keys;
  },
  set keys(to: boolean) {
    keep({ keys: to });
  },
};
