/** Pictures of a component. */
import { missing, queuePicture } from "./pictureQueue";
import { session } from "./session.svelte";

/**
 * Tells a component whether the picture at the address `of` can be shown: `address` is "" if there
 * is none, or if it could not be loaded. `load` loads it into an element.
 */
export function shownPicture(of: () => string) {
  let failed = $state("");
  const picture = $derived(of());
  const address = $derived(failed === picture || missing.has(picture) ? "" : picture);
  // After a sign-in, and when the server answers again, pictures that failed are loaded again.
  $effect(() => {
    if (session.lost) missing.clear();
    else if (!session.offline) failed = "";
  });
  return {
    get address() {
      return address;
    },
    load: (image: HTMLImageElement) =>
      queuePicture(image, address, () => {
        if (!session.lost && !session.offline) missing.add(picture);
        failed = picture;
      }),
  };
}
