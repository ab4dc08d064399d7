import type { admin as zh } from "../../zh-CN/admin";
import { announcements } from "./announcements";
import { common } from "./common";

export const admin: typeof zh = { announcements, common };
