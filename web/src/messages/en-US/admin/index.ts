import type { admin as zh } from "../../zh-CN/admin";
import { announcements } from "./announcements";
import { common } from "./common";
import { invites } from "./invites";
import { mounts } from "./mounts";
import { storage } from "./storage";
import { users } from "./users";

export const admin: typeof zh = { announcements, common, invites, mounts, storage, users };
