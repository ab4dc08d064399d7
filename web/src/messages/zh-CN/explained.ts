/** Texts of the administration outside of its pages, which only administrators load. */
export const explained = {
  access: "权限分析",
  why: "为什么？",
  setUp: "还有未完成的设置步骤",
};
