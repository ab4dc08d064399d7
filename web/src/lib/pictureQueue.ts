/**
 * Loads thumbnails a few at a time. Browsers open six connections to a host: two remain for
 * listings, which people wait for. A load whose picture has left the screen is aborted.
 */
import { found, lose } from "./lostPictures.svelte";

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

/**
 * Loads a picture into an element when its turn has come. If it cannot be loaded, its turn lasts
 * until the server has said why. Returns a function that aborts this.
 */
export function queuePicture(image: HTMLImageElement, address: string): () => void {
  let loading = false;
  const next = () => {
    running--;
    pump();
  };
  const end = () => {
    if (loading) next();
    loading = false;
  };
  const load = () => {
    found(address);
    end();
  };
  const error = () => {
    loading = false;
    void lose(address).then(next);
  };
  const start = () => {
    loading = true;
    image.src = address;
  };
  image.fetchPriority = "low";
  image.addEventListener("load", load);
  image.addEventListener("error", error);
  waiting.push(start);
  pump();
  return () => {
    image.removeEventListener("load", load);
    image.removeEventListener("error", error);
    const at = waiting.indexOf(start);
    if (at >= 0) waiting.splice(at, 1);
    image.removeAttribute("src");
    end();
  };
}
