const copied = (n: number) => (n === 1 ? "已复制" : `已复制 ${n.toLocaleString("zh-CN")} 个链接`);

export const links = {
  question: "复制的链接，谁可以打开？",
  kinds: { permanent: "有链接的人", signed: "限时开放", path: "有权限的人" },
  hints: {
    permanent: "拿到链接的人都能打开，相当于公开文件，直到您撤销链接。适合在网页和文档中插图。移动文件后链接仍然有效。",
    signed: "到期前无需登录即可打开。",
    path: "项目的地址，只有能在这里打开它的人才能打开。移动或重命名后会变化。",
  },
  lifetime: "有效期",
  lifetimes: { 3600: "1 小时", 86400: "1 天", 604800: "7 天" } as Record<number, string>,
  format: "链接格式",
  formats: { direct: "直链", html: "HTML", markdown: "Markdown", bbcode: "BBCode" },
  impossible: (why: string) => `无法使用：${why}。`,
  remembered: "此浏览器会记住您的选择。复制后点击提示中的“更改”可重新选择。",
  copy: "复制",
  change: "更改",
  copied: {
    permanent: (n: number) => `${copied(n)}：拿到链接的人都能打开。`,
    signed: (n: number, until: string) => `${copied(n)}：${until} 前，拿到链接的人都能打开。`,
    path: (n: number) => `${copied(n)}：只有有权限的人能打开。`,
  } as Record<"permanent" | "signed" | "path", (n: number, until: string) => string>,
  copiedPublic: (n: number) => `${copied(n)}：任何人都能打开。`,
  notChosen: (why: string) => `无法生成任何人都能打开的链接：${why}。`,
  someNotChosen: (n: number, why: string) => `其中 ${n.toLocaleString("zh-CN")} 个只有有权限的人能打开：${why}。`,
  obstacles: {
    folder: "文件夹不支持",
    password: "有密码保护",
    share: "您没有“分享”权限",
    download: "您没有“下载”权限",
    guests: "本站不对访客开放",
    closed: "规则或设置不允许访客打开",
  },
  skipped: (n: number) => `${n.toLocaleString("zh-CN")} 个项目没有链接`,
  blocked: "浏览器需要您点击一下才能复制。",
  joint: "",
};
