import type { versions as zh } from "../zh-CN/versions";

export const versions: typeof zh = {
  list: "Versions",
  none: "This file has not been replaced recently.",
  replaced: (when, who) => `Replaced ${when} by ${who}`,
  you: "you",
  somebody: "somebody else",
  restore: "Restore",
  restoreOf: (when) => `Restore the version of ${when}`,
  restored: (name, when) => `“${name}” has the content of ${when} again.`,
  compare: "Compare",
  compareOf: (when) => `Compare with the version of ${when}`,
  compareTitle: (name) => `Two versions of “${name}”`,
  before: "Version",
  present: "Now",
  download: "Download",
  downloadOf: (when) => `Download the version of ${when}`,
  drop: "Delete for good",
  dropOf: (when) => `Delete the version of ${when} for good`,
  dropTitle: (when) => `Delete the version of ${when} for good?`,
  dropText: "The present content of the file stays. This can't be undone.",
};
