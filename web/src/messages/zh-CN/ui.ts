/** Texts of the components in lib/ui that lists, forms and overviews are made of. */
export const ui = {
  table: {
    sort: "排序方式",
    asc: "升序",
    desc: "降序",
    sorted: (column: string, order: string) => `${column}（${order}）`,
    actions: "操作",
  },
  pager: {
    previous: "上一页",
    next: "下一页",
    page: (n: string) => `第 ${n} 页`,
    range: (from: string, to: string, total: string) => `第 ${from}–${to} 项，共 ${total} 项`,
    none: "没有内容",
  },
  filter: {
    filters: (set: number) => (set > 0 ? `筛选（${set}）` : "筛选"),
    clear: "清除筛选",
  },
  expiry: {
    label: "有效期",
    keep: "不变",
    never: "永久",
    days: (n: number) => `${n} 天`,
    year: "1 年",
    exact: "指定时间",
    exactLabel: "失效时间",
  },
  save: {
    unsaved: "有未保存的更改",
    saving: "正在保存…",
    discard: "放弃更改",
    leaveTitle: "不保存就离开？",
    lost: "离开此页面后，未保存的更改将会丢失。",
    leave: "离开",
  },
  chart: { table: "以表格显示", time: "时间" },
};
