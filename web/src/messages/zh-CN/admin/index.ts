import { announcements } from "./announcements";
import { common } from "./common";
import { dashboard } from "./dashboard";
import { evacuation } from "./evacuation";
import { files } from "./files";
import { invites } from "./invites";
import { logs } from "./logs";
import { mounts } from "./mounts";
import { rules } from "./rules";
import { setup } from "./setup";
import { shares } from "./shares";
import { site } from "./site";
import { storage } from "./storage";
import { system } from "./system";
import { users } from "./users";

/** The texts of the administration. */
export const admin = {
  announcements,
  common,
  dashboard,
  evacuation,
  files,
  invites,
  logs,
  mounts,
  rules,
  setup,
  shares,
  site,
  storage,
  system,
  users,
};
