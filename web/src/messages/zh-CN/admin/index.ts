import { announcements } from "./announcements";
import { common } from "./common";
import { invites } from "./invites";
import { mounts } from "./mounts";
import { storage } from "./storage";
import { users } from "./users";

/** The texts of the administration. */
export const admin = { announcements, common, invites, mounts, storage, users };
