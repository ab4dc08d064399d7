/** A menu item; "-" is a separator. */
export type MenuItem =
  | "-"
  | {
      label: string;
      icon?: string;
      shortcut?: string;
      danger?: boolean;
      disabled?: boolean;
      /** For radio items and items that are on or off. */
      checked?: boolean;
      run: () => void;
    };
