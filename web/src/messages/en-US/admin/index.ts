import type { admin as zh } from "../../zh-CN/admin";
import { announcements } from "./announcements";
import { common } from "./common";
import { invites } from "./invites";
import { users } from "./users";

export const admin: typeof zh = { announcements, common, invites, users };
