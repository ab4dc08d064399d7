import type { ui as zh } from "../zh-CN/ui";

export const ui: typeof zh = {
  table: {
    sort: "Sort by",
    asc: "ascending",
    desc: "descending",
    sorted: (column, order) => `${column}, ${order}`,
    actions: "Actions",
  },
  pager: {
    previous: "Previous",
    next: "Next",
    page: (n) => `Page ${n}`,
    range: (from, to, total) => `${from}–${to} of ${total}`,
    none: "No entries",
  },
  filter: {
    filters: (set) => (set > 0 ? `Filters (${set})` : "Filters"),
    clear: "Clear filters",
  },
  expiry: {
    label: "Expires",
    keep: "Unchanged",
    never: "Never",
    days: (n) => (n === 1 ? "1 day" : `${n} days`),
    year: "1 year",
    exact: "Pick a time",
    exactLabel: "Expires at",
  },
  save: {
    unsaved: "You have unsaved changes",
    saving: "Saving…",
    discard: "Discard",
    leaveTitle: "Leave without saving?",
    lost: "Your unsaved changes are lost when you leave this page.",
    leave: "Leave",
  },
  chart: { table: "Show as a table", time: "Time" },
};
