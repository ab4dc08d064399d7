/** An action of a menu. */
export interface MenuAction {
  label: string;
  icon?: string;
  shortcut?: string;
  danger?: boolean;
  disabled?: boolean;
  /** For radio items and items that are on or off. */
  checked?: boolean;
  run: () => void;
}

/** Items below a heading. */
export interface MenuGroup {
  heading: string;
  items: readonly MenuItem[];
}

/** An item that opens a menu of its own. */
export interface Submenu {
  label: string;
  icon?: string;
  disabled?: boolean;
  items: readonly MenuItem[];
}

/** A menu item; "-" is a separator. */
export type MenuItem = "-" | MenuAction | MenuGroup | Submenu;

/** All actions of a menu, also those in groups and submenus. */
export function actionsOf(items: readonly MenuItem[]): MenuAction[] {
  return items.flatMap((item) => (item === "-" ? [] : "items" in item ? actionsOf(item.items) : [item]));
}
