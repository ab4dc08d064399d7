/** The view of each folder, and a default for folders without one. Stored in this browser. */
import type { Order, Sort } from "./source/source";

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
  /** A single click opens an entry. */
  single: boolean;
  /** Keys without Ctrl or Alt are active. */
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
    // without storage, it applies until the page is closed
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
  /** Makes the view of a folder the view of all folders. */
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
