/**
 * Video and audio go on when the viewer is closed: the media element itself moves from the viewer
 * to the player at the lower edge, and back. The browser stops an element that is out of the page
 * for more than a moment, so it stays in the document all the time.
 */
import type { Entry } from "./entry";

class Player {
  /** The entry that plays, or has played, outside of the viewer. */
  entry = $state.raw<Entry>();
  /** The element that plays it. */
  element: HTMLMediaElement | undefined;

  /** Takes over an element from the viewer; it goes on playing. */
  adopt(entry: Entry, element: HTMLMediaElement): void {
    this.close();
    element.controls = false;
    element.hidden = true; // until the player shows it
    document.body.append(element);
    this.element = element;
    this.entry = entry;
  }

  /**
   * Hands over the element of an entry to the caller, undefined when the entry does not play here.
   */
  release(id: string): HTMLMediaElement | undefined {
    if (this.entry?.id !== id) return undefined;
    const { element } = this;
    this.element = undefined;
    this.entry = undefined;
    return element;
  }

  close(): void {
    this.element?.pause();
    this.element?.remove();
    this.element = undefined;
    this.entry = undefined;
  }
}

export const player = new Player();
