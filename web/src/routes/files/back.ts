/** Where the reader was in a folder, for Back to lead there again. */

export interface Spot {
  scroll: number;
  active: number;
}

const spots = new Map<string, Spot>();
let wentBackAt = Number.NEGATIVE_INFINITY;
let lastLeft = "";
const soon = 1000; // ms in which a screen follows its address

history.scrollRestoration = "manual"; // what the browser would scroll in is not there yet when it does
addEventListener("popstate", () => (wentBackAt = performance.now()));

export function leave(path: string, spot: Spot): void {
  spots.delete(path);
  spots.set(path, spot);
  if (spots.size > 100) spots.delete(spots.keys().next().value!);
  lastLeft = path;
}

/** Where the reader was in a folder when Back has just led to it; undefined for its beginning. */
export function returning(path: string): Spot | undefined {
  const back = performance.now() - wentBackAt < soon;
  wentBackAt = Number.NEGATIVE_INFINITY;
  return back ? spots.get(path) : undefined;
}

/** The folder that was open before this one, "" for none. */
export function previous(): string {
  return lastLeft;
}
