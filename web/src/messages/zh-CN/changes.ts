const digits = (n: number) => n.toLocaleString("zh-CN");

export const changes = {
  moving: (to: string) => `正在移动到“${to}”`,
  copying: (to: string) => `正在复制到“${to}”`,
  moved: (n: number, to: string) => `已将 ${digits(n)} 项移动到“${to}”。`,
  notMoved: (n: number, reason: string) => `${digits(n)} 项未能移动：${reason}`,
  copied: (n: number, to: string) => `已将 ${digits(n)} 项复制到“${to}”。`,
  notCopied: (n: number, reason: string) => `${digits(n)} 项未能复制：${reason}`,
  undo: "撤销",
  undone: "已撤销。",
  changedSince: (name: string) => `没有撤销：“${name}”或其顺序此后又被更改。`,
  elsewhere: "项目现在位于另一个文件夹，或名称已被占用。",
  movingBack: "正在移回原处",
  movedBack: (n: number) => `已将 ${digits(n)} 项移回原处。`,
  renamed: (name: string) => `已重命名为“${name}”。`,
  appearanceChanged: (name: string) => `“${name}”的外观已更改。`,
  unstarred: (n: number) => `已取消收藏 ${digits(n)} 项。`,
  reordered: (name: string) => `“${name}”的位置已调整。`,
};
