/**
 * Films and sounds go on when the viewer over them is closed: the very element that plays moves from the viewer to the player at the lower edge, and
 * back. An element that is out of the page for longer than a moment is stopped by the browser, so it is kept in it all the time.
 */
import type { Entry } from "./entry";

class Player {
  /** What plays, or has played, outside the viewer. */
  entry = $state.raw<Entry>();
  /** What plays it. */
  element: HTMLMediaElement | undefined;

  /** Goes on with what plays. */
  keep(entry: Entry, element: HTMLMediaElement): void {
    this.close();
    element.controls = false;
    element.hidden = true; // until the player has it
    document.body.append(element);
    this.element = element;
    this.entry = entry;
  }

  /** Hands over what plays an entry, undefined when nothing does. */
  take(id: string): HTMLMediaElement | undefined {
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
