/** The sections of the settings and of the administration, and the settings on them. */
import { go } from "../../lib/router.svelte";
import { mayOpen, places, type Place } from "../table";
import type { Option } from "./groups";

function optionsOf(place: Place, sections: readonly Place[]): Option[] {
  const above = place.title?.() ?? "";
  return sections.flatMap((section) => {
    const title = section.title?.() ?? "";
    const run = () => go(`/app/${place.name}/${section.name}`);
    const settings = (section.settings?.() ?? []).map((label) => ({ label, meta: `${above} › ${title}`, run }));
    return [{ label: title, meta: above, run }, ...settings];
  });
}

export class Sections {
  #loaded = $state.raw<[Place, readonly Place[]][]>([]);
  #asked = false;

  readonly all = $derived(this.#loaded.flatMap(([place, sections]) => optionsOf(place, sections)));

  /** Loads the sections that the reader may open. Without a connection, they are not found. */
  load(): void {
    if (this.#asked) return;
    this.#asked = true;
    for (const place of places.filter(mayOpen))
      void place
        .below?.()
        .then((below) => (this.#loaded = [...this.#loaded.filter(([one]) => one !== place), [place, below.places]]))
        .catch(() => (this.#asked = false));
  }
}
