/**
 * Keeps the page when files are dropped where nothing takes them: the browser would open them in
 * its place. A handler for `dragover` and `drop` of the window.
 */
export function stay(event: DragEvent): void {
  if (event.defaultPrevented || !event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "none";
}
