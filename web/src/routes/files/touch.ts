/**
 * Long presses: a long press selects an entry, and the tap that ends it does not open the entry.
 */
import type { Attachment } from "svelte/attachments";

const long = 450; // ms
const still = 10; // px

export function touch(does: {
  index: (at: Element) => number;
  press: (index: number) => void;
}): Attachment<HTMLElement> {
  return (node) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let from = { x: 0, y: 0 };
    let pressed = false;

    const cancel = () => clearTimeout(timer);
    const down = (event: PointerEvent) => {
      pressed = false;
      if (event.pointerType !== "touch" || (event.target as Element).closest("button, input")) return;
      const index = does.index(event.target as Element);
      if (index < 0) return;
      from = { x: event.clientX, y: event.clientY };
      timer = setTimeout(() => {
        pressed = true;
        does.press(index);
      }, long);
    };
    const move = (event: PointerEvent) => {
      if (Math.hypot(event.clientX - from.x, event.clientY - from.y) > still) cancel();
    };
    const click = (event: MouseEvent) => {
      if (!pressed) return;
      pressed = false;
      event.preventDefault();
      event.stopPropagation();
    };
    node.addEventListener("pointerdown", down);
    node.addEventListener("pointermove", move);
    node.addEventListener("pointerup", cancel);
    node.addEventListener("pointercancel", cancel);
    node.addEventListener("click", click, { capture: true });
    return () => {
      cancel();
      node.removeEventListener("pointerdown", down);
      node.removeEventListener("pointermove", move);
      node.removeEventListener("pointerup", cancel);
      node.removeEventListener("pointercancel", cancel);
      node.removeEventListener("click", click, { capture: true });
    };
  };
}
