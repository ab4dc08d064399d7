/** Scroll position and active entry of each folder, restored on Back. */

export interface FolderPosition {
  scroll: number;
  active: number;
}

const positions = new Map<string, FolderPosition>();
let wentBackAt = Number.NEGATIVE_INFINITY;
let lastLeft = "";
const soon = 1000; // ms within which a screen follows its address

// the entries are not rendered yet when the browser would restore the scroll position
history.scrollRestoration = "manual";
addEventListener("popstate", () => (wentBackAt = performance.now()));

export function leave(path: string, position: FolderPosition): void {
  positions.delete(path);
  positions.set(path, position);
  if (positions.size > 100) positions.delete(positions.keys().next().value!);
  lastLeft = path;
}

/** The last position in a folder if Back has just led to it; undefined otherwise. */
export function returning(path: string): FolderPosition | undefined {
  const back = performance.now() - wentBackAt < soon;
  wentBackAt = Number.NEGATIVE_INFINITY;
  return back ? positions.get(path) : undefined;
}

/** The folder that was open before this one, "" for none. */
export function previous(): string {
  return lastLeft;
}
