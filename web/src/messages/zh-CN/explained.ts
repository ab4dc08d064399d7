/** The links to the explanation of access, which only administrators load. */
export const explained = {
  access: "权限分析",
  why: "为什么？",
};
