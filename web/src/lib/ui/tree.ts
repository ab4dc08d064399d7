/** A node of a tree. Its key is unique in all of it. */
export interface TreeNode {
  key: string;
  label: string;
  /** Said after the label, in a quieter voice. */
  note?: string;
  icon?: string;
  /** It has nothing below it and is not asked for it. */
  leaf?: boolean;
}
