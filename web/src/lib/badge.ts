/** The number on the icon of the installed app. */

/** Shows how many files still wait for their upload; 0 removes the number. */
export function showBadge(waiting: number): void {
  if (!("setAppBadge" in navigator)) return;
  (waiting > 0 ? navigator.setAppBadge(waiting) : navigator.clearAppBadge()).catch(() => undefined);
}
