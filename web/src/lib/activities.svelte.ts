/** Background actions on entries: a card at the edge of the page shows the progress of each. */

export interface Activity {
  id: number;
  label: string;
  /** Number of entries; an entry that is being copied counts as a fraction. */
  done: number;
  total: number;
}

class Activities {
  all = $state<Activity[]>([]);
}

export const activities = new Activities();

/** Actions that end sooner (ms) get no card. */
const soon = 400;
let last = 0;

/** Shows a card for an action, of which `done` of `total` entries are done. */
export function show(label: string, total: number, done = 0): { progress(done: number): void; end(): void } {
  const id = ++last;
  const timer = setTimeout(() => activities.all.push({ id, label, done, total }), soon);
  return {
    progress(now) {
      done = now;
      const card = activities.all.find((activity) => activity.id === id);
      if (card) card.done = now;
    },
    end() {
      clearTimeout(timer);
      activities.all = activities.all.filter((activity) => activity.id !== id);
    },
  };
}
