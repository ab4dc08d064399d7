/** The order of a slideshow. */

/**
 * The index of the picture that follows an index, or the first one after the last; -1 if there is
 * no other. `fits` reports whether a picture is at an index; it is true for one that is not loaded.
 */
export function slideAfter(index: number, total: number, fits: (index: number) => boolean): number {
  for (let step = 1; step < total; step++) {
    const at = (index + step) % total;
    if (fits(at)) return at;
  }
  return -1;
}
