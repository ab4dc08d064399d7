/** The positions at which videos were stopped, stored in this browser by the ids of the files. */

const key = "larder.positions";
/** The most positions that are kept; the oldest one is dropped first. */
const most = 200;
/** A video that stops within so many seconds of its start or end has no stored position. */
const edge = 5;
/** A position is stored again after so many seconds of playing. */
const step = 5;

function kept(): [id: string, seconds: number][] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(stored) ? (stored as [string, number][]) : [];
  } catch {
    return [];
  }
}

/** The position of a video in seconds, 0 for the beginning. */
export function positionOf(id: string): number {
  const found = kept().find((one) => one[0] === id)?.[1];
  return typeof found === "number" && found > 0 ? found : 0;
}

/** Stores the position of a video of some length, both in seconds. */
export function keepPosition(id: string, seconds: number, length: number): void {
  const others = kept().filter((one) => one[0] !== id);
  const worth = seconds >= edge && !(length - seconds < edge);
  try {
    localStorage.setItem(key, JSON.stringify(worth ? [[id, Math.floor(seconds)], ...others].slice(0, most) : others));
  } catch {
    // without storage, the video begins anew
  }
}

/** Sets a video to its stored position when it has loaded, and stores its position from then on. */
export function remember(video: HTMLMediaElement, id: string): void {
  let stored = 0;
  const keep = () => {
    stored = video.currentTime;
    keepPosition(id, stored, video.duration);
  };
  video.addEventListener(
    "loadedmetadata",
    () => {
      const at = positionOf(id);
      // another content of the file may be shorter
      if (video.currentTime === 0 && at > 0 && at < video.duration - edge) video.currentTime = at;
    },
    { once: true },
  );
  video.addEventListener("timeupdate", () => !video.paused && Math.abs(video.currentTime - stored) >= step && keep());
  // a paused video fires no other event when the user chooses a position
  for (const event of ["seeking", "pause", "ended"]) video.addEventListener(event, keep);
}
