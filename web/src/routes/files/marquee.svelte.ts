/** A rectangle selection with the mouse. Near the edges of the window the page scrolls. */
import { add, type Ranges } from "../../lib/ranges";
import type { Selection } from "../../lib/selection.svelte";

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const least = 4; // px of movement before a click becomes a rectangle
const edge = 48;

export class Marquee {
  /** Pixels within the grid. */
  box = $state.raw<Box>();

  constructor(
    private readonly selection: () => Selection,
    /** The entries in a rectangle within the grid. */
    private readonly within: (left: number, top: number, right: number, bottom: number) => Ranges,
  ) {}

  begin(event: PointerEvent, grid: HTMLElement): void {
    const selection = this.selection();
    const keep = event.ctrlKey || event.metaKey || event.shiftKey;
    const before = keep ? selection.chosen : [];
    const origin = grid.getBoundingClientRect();
    const from = { x: event.clientX - origin.left, y: event.clientY - origin.top };
    let at = { x: event.clientX, y: event.clientY };
    let frame = 0;
    if (!keep) selection.none();

    const draw = () => {
      const { left, top } = grid.getBoundingClientRect();
      const to = { x: at.x - left, y: at.y - top };
      if (!this.box && Math.hypot(to.x - from.x, to.y - from.y) < least) return;
      this.box = {
        left: Math.min(from.x, to.x),
        top: Math.min(from.y, to.y),
        right: Math.max(from.x, to.x),
        bottom: Math.max(from.y, to.y),
      };
      const inside = this.within(this.box.left, this.box.top, this.box.right, this.box.bottom);
      selection.set(inside.reduce((set, [first, end]) => add(set, first, end), before));
    };
    const step = () => {
      const up = Math.max(0, edge + 64 - at.y);
      const down = Math.max(0, at.y - innerHeight + edge);
      if (this.box && up + down > 0) {
        scrollBy(0, (down - up) / 3);
        draw();
      }
      frame = requestAnimationFrame(step);
    };
    const move = (moved: PointerEvent) => {
      at = { x: moved.clientX, y: moved.clientY };
      draw();
    };
    const end = () => {
      cancelAnimationFrame(frame);
      this.box = undefined;
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
    frame = requestAnimationFrame(step);
    event.preventDefault(); // prevents text selection
    (document.activeElement as HTMLElement | null)?.blur();
  }
}
