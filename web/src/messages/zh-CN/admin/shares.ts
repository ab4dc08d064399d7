export const shares = {
  search: "搜索名称或创建者",
  creator: "创建者",
  deletedAccount: "已删除的账户",
  openOf: (name: string) => `以访客身份打开 ${name}`,
  fileOf: (name: string) => `查看 ${name} 的文件`,
  revokeOf: (name: string) => `撤销 ${name} 的分享`,
  empty: "还没有分享",
  emptyText: "用户分享的文件和文件夹会显示在这里。",
};
