/**
 * Loads thumbnails a few at a time. Browsers open six connections to a host: two remain for
 * listings, which people wait for. A load whose picture has left the screen is aborted.
 */
const atOnce = 4;
let running = 0;
const waiting: (() => void)[] = [];

function pump(): void {
  while (running < atOnce) {
    const start = waiting.shift();
    if (!start) return;
    running++;
    start();
  }
}

/** The addresses of pictures that do not exist; they are not requested again. */
export const missing = new Set<string>();

/**
 * Loads a picture into an element when its turn has come. Calls `failed` if it cannot be loaded.
 * Returns a function that aborts this.
 */
export function queuePicture(image: HTMLImageElement, address: string, failed: () => void): () => void {
  let loading = false;
  const end = () => {
    if (!loading) return;
    loading = false;
    running--;
    pump();
  };
  const start = () => {
    loading = true;
    image.src = address;
  };
  image.fetchPriority = "low";
  image.addEventListener("load", end);
  image.addEventListener("error", end);
  image.addEventListener("error", failed);
  waiting.push(start);
  pump();
  return () => {
    image.removeEventListener("load", end);
    image.removeEventListener("error", end);
    image.removeEventListener("error", failed);
    const at = waiting.indexOf(start);
    if (at >= 0) waiting.splice(at, 1);
    image.removeAttribute("src");
    end();
  };
}
