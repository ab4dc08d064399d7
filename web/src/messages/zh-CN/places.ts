const digits = (n: number) => n.toLocaleString("zh-CN");

export const places = {
  added: (n: number) => `已收藏 ${digits(n)} 项。`,
  tooMany: "最多可收藏 1,000 项。",
  none: "还没有收藏",
  noneText: "在文件或文件夹的菜单中选择“收藏”，它就会显示在这里。",
  noRecent: "还没有最近的文件",
  noRecentText: "您上传或更改的文件会显示在这里。",
  folders: "文件夹",
};
