/** The texts of error pages. */
export const errors = {
  notFound: "找不到此页面",
  notFoundText: "链接可能有误，或内容已被移动、删除。",
  forbiddenText: "您的账户没有此内容的“读取”权限。",
  ask: "如果需要，请联系管理员。",
  unauthorized: "需要登录",
  unauthorizedText: "登录后即可查看此内容。",
  locked: "此内容受密码保护",
  lockedText: "请输入访问密码以打开。",
  password: "访问密码",
  open: "打开",
  id: (time: string) => `报告问题时请提供此时间：${time}`,
};
