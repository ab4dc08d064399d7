/**
 * The floating elements at the lower edge are stacked: the selection bar or, on a phone, the button
 * to add entries; the player; the uploads; the toasts. Each of them publishes its height as
 * `--room-selection` and so on, for the styles of those above it.
 */
import type { Attachment } from "svelte/attachments";

const gap = 8; // px

export function floats(name: "selection" | "player" | "tray"): Attachment<HTMLElement> {
  return (element) => {
    const { style } = document.documentElement;
    const observer = new ResizeObserver(() => {
      const height = element.offsetHeight;
      if (height > 0) style.setProperty(`--room-${name}`, `${height + gap}px`);
      else style.removeProperty(`--room-${name}`);
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      style.removeProperty(`--room-${name}`);
    };
  };
}
