/** The tools of a viewer. */
import type { MenuAction, MenuItem } from "./ui/menu";

/** Where a tool is: always in the bar, in the bar of a wide window, or always in the menu. */
export type ToolPlace = "bar" | "wide" | "menu";

export interface Tool extends MenuAction {
  /** Identifies a tool whose icon changes. */
  id?: string;
  icon: string;
  place: ToolPlace;
  /** For tools that are on or off. */
  pressed?: boolean;
}

/** The buttons of the bar. */
export function buttonsOf(tools: readonly Tool[], narrow: boolean): Tool[] {
  return tools.filter(({ place }) => place === "bar" || (place === "wide" && !narrow));
}

/** The items of the menu. Tools that destroy come last, after a line. */
export function itemsOf(tools: readonly Tool[], narrow: boolean): MenuItem[] {
  const items = tools
    .filter(({ place }) => place === "menu" || (place === "wide" && narrow))
    .map((item): MenuAction => (item.pressed === undefined ? item : { ...item, checked: item.pressed }));
  const harmful = items.filter(({ danger }) => danger);
  const harmless = items.filter(({ danger }) => !danger);
  return [...harmless, ...(harmful.length > 0 && harmless.length > 0 ? (["-"] as const) : []), ...harmful];
}
