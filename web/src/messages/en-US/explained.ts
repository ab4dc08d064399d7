import type { explained as zh } from "../zh-CN/explained";

export const explained: typeof zh = {
  access: "Explain access",
  why: "Why?",
  setUp: "setup steps remain",
};
