import { announcements } from "./announcements";
import { common } from "./common";

/** The texts of the administration. */
export const admin = { announcements, common };
