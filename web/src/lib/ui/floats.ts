/**
 * What floats at the lower edge stands one above the other: the selection bar or, on a phone, the button that adds something; the player; the uploads;
 * the toasts. Each tells the styles of those above it how much room it takes, as `--room-selection` and so on.
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
