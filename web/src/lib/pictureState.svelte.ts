/** The state of a picture that a component shows: whether it can be loaded. */
import { missing, queuePicture } from "./pictureQueue";
import { session } from "./session.svelte";

/**
 * The state of the picture whose address `of` returns. `address` is that address, or "" if there is
 * no picture or if it could not be loaded. `load` loads the picture into an element.
 */
export function pictureState(of: () => string) {
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
