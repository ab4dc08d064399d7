/** What goes on with entries while no dialog tells of it: a card at the edge of the page does, until it ends. */

export interface Work {
  id: number;
  label: string;
  /** Entries, with parts of one for what is being copied. */
  done: number;
  total: number;
}

class Works {
  all = $state<Work[]>([]);
}

export const works = new Works();

/** What ends sooner gets no card. */
const soon = 400;
let last = 0;

/** Has a card tell how far something is, which is `done` of `total` entries by now. */
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
