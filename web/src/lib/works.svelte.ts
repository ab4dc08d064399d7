/** Background actions on entries: a card at the edge of the page shows the progress of each. */

export interface Work {
  id: number;
  label: string;
  /** Number of entries; an entry that is being copied counts as a fraction. */
  done: number;
  total: number;
}

class Works {
  all = $state<Work[]>([]);
}

export const works = new Works();

/** Actions that end sooner (ms) get no card. */
const soon = 400;
let last = 0;

/** Shows a card for an action, of which `done` of `total` entries are done. */
export function show(label: string, total: number, done = 0): { progress(done: number): void; end(): void } {
  const id = ++last;
  const timer = setTimeout(() => works.all.push({ id, label, done, total }), soon);
  return {
    progress(now) {
      done = now;
      const card = works.all.find((work) => work.id === id);
      if (card) card.done = now;
    },
    end() {
      clearTimeout(timer);
      works.all = works.all.filter((work) => work.id !== id);
    },
  };
}
