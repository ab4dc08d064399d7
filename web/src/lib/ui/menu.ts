/** An entry of a menu; "-" is a rule between two groups. */
export type MenuItem =
  | "-"
  | {
      label: string;
      icon?: string;
      shortcut?: string;
      danger?: boolean;
      disabled?: boolean;
      /** For one of several, or something that is on or off. */
      checked?: boolean;
      run: () => void;
    };
