import { announcements } from "./announcements";
import { common } from "./common";
import { invites } from "./invites";
import { users } from "./users";

/** The texts of the administration. */
export const admin = { announcements, common, invites, users };
