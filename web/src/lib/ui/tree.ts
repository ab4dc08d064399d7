/** A node of a tree. Its key is unique in the tree. */
export interface TreeNode {
  key: string;
  label: string;
  /** Secondary text after the label. */
  note?: string;
  icon?: string;
  /** The node has no children, and they are not requested. */
  leaf?: boolean;
}
