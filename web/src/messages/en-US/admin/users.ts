import type { users as zh } from "../../zh-CN/admin/users";

const users_ = (n: number) => (n === 1 ? "1 user" : `${n} users`);

export const users: typeof zh = {
  tabs: "Users and invites",
  list: "List of users",
  invites: "Invites",
  create: "New user",
  search: "Search name or email",
  found: (n) => (n === "1" ? "1 user" : `${n} users`),
  none: "No users match",
  user: "User",
  role: "Role",
  roles: { user: "User", admin: "Administrator", guest: "Guest" },
  roleHelp: {
    user: "Has a folder, and can upload, share and use API keys.",
    admin: "Sees all files, and manages the users and the site.",
    guest: "Has no rights of its own: rules say what it may do.",
  },
  allRoles: "All roles",
  status: "Status",
  statuses: { active: "Active", disabled: "Disabled", banned: "Banned" },
  allStatuses: "Any status",
  quota: "Quota",
  storage: "Storage",
  files: "Files",
  used: (used) => `${used}, unlimited`,
  usedOf: (used, most) => `${used} of ${most}`,
  filesUsed: (used) => (used === "1" ? "1 file, unlimited" : `${used} files, unlimited`),
  filesOf: (used, most) => `${used} of ${most} files`,
  inTrash: (kept) => `${kept} in trash and versions`,
  seen: "Last seen",
  notSeen: "Not seen yet",
  created: "Created",
  you: "You",
  verified: "Email verified",
  unverified: "Email not verified",
  select: (name) => `Select ${name}`,
  selectAll: "Select all on this page",
  selected: (n) => `${n} selected`,
  actionsFor: (name) => `Actions for ${name}`,
  disable: "Disable",
  enable: "Enable",
  setQuota: "Set quota",
  emptyTrash: "Empty trash",
  emptyTrashOf: (name) => `Empty the trash of “${name}”?`,
  emptyTrashText:
    "Every deleted file of this user is deleted for good. This can't be undone, and the access log records it.",
  trashEmptied: (name) => `The trash of “${name}” is emptied.`,
  newPassword: "New password",
  newPasswordFor: (name) => `Give “${name}” a new password?`,
  newPasswordText:
    "A random password replaces the present one, and the user is signed out everywhere. API keys and shares stay.",
  newPasswordIs: (name) => `New password of “${name}”`,
  ask: (action) => `${action}…`,

  disableOf: (name) => `Disable “${name}”?`,
  disableMany: (n) => `Disable ${users_(n)}?`,
  disableText: "A disabled user can't sign in. The files stay.",
  enableOf: (name) => `Enable “${name}”?`,
  enableMany: (n) => `Enable ${users_(n)}?`,
  enableText: "An enabled user can sign in again.",
  deleteOf: (name) => `Delete “${name}”?`,
  deleteMany: (n) => `Delete ${users_(n)}?`,
  deleteText: "This can't be undone. The user name and the address become free, and the home folder gets another name.",
  names: (names) => names.join(", "),
  disabled: (n) => `${users_(n)} disabled`,
  enabled: (n) => `${users_(n)} enabled`,
  deleted: (n) => `${users_(n)} deleted`,
  quotaSet: (n) => `Quota of ${users_(n)} changed`,
  failed: (n) => `${users_(n)} could not be changed:`,
  failedOf: (name, reason) => `${name}: ${reason}`,
  impact: {
    title: "Effects",
    unknown: (reason) => `Couldn't load the numbers. ${reason}`,
    sessions: (n) =>
      n === "1" ? "1 session ends: a new sign-in is needed" : `${n} sessions end: new sign-ins are needed`,
    signedOut: (n) => (n === "1" ? "1 session ends" : `${n} sessions end`),
    keysRole: (n) =>
      n === "1" ? "1 API key acts with the new role from now on" : `${n} API keys act with the new role from now on`,
    sharesRole: (n) =>
      n === "1"
        ? "1 share gives only what the new role may share"
        : `${n} shares give only what the new role may share`,
    rightsRole: "The rights on files and folders become those of the new role",
    keysStop: (n) =>
      n === "1" ? "1 API key stops until the user is enabled" : `${n} API keys stop until the user is enabled`,
    sharesStop: (n) =>
      n === "1" ? "1 share stops until the user is enabled" : `${n} shares stop until the user is enabled`,
    keysBack: (n) => (n === "1" ? "1 API key works again" : `${n} API keys work again`),
    sharesBack: (n) => (n === "1" ? "1 share works again" : `${n} shares work again`),
    keysEnd: (n) => (n === "1" ? "1 API key is revoked" : `${n} API keys are revoked`),
    sharesEnd: (n) => (n === "1" ? "1 share is revoked" : `${n} shares are revoked`),
    files: (n, size) =>
      n === "1"
        ? `1 file (${size}) becomes yours and counts towards your quota`
        : `${n} files (${size}) become yours and count towards your quota`,
    nothing: "No session, API key, share or file is affected.",
    full: (n) =>
      n === "1"
        ? "1 user already has more than the new quota: the files stay, but uploads are refused until there is room"
        : `${n} users already have more than the new quota: the files stay, but uploads are refused until there is room`,
  },

  name: "User name",
  email: "Email address",
  password: "Password",
  generate: "Generate",
  made: (name) => `User “${name}” created`,
  madeText: "Send this to the user. The password is shown only here.",
  signInAt: "Sign in at",
  copyAll: "Copy sign-in details",
  allText: (address, name, password) => `Sign in at: ${address}\nUser name: ${name}\nPassword: ${password}`,
  ownRole: "You can't change your own role. Ask another administrator.",
  ownStatus: "You can't disable your own account.",
  folder: "Home folder",
  folderHelp:
    "Opens after the sign-in. If it doesn't exist, it is created and belongs to the user. The former folder stays.",
  trash: "Trash",
  trashHelp: "Above the limit, the oldest items are deleted for good. The default is half of the storage limit.",
  limits: {
    keep: "Unchanged",
    default: "Site default",
    unlimited: "Unlimited",
    limit: "Limit",
    amount: { storage: "Most storage", files: "Most files", trash: "Most in the trash" },
    unit: "Unit",
  },
  wrong: {
    folder: "Enter a path that begins with /, lies in a mount, and is not that of a file.",
    storage: "Enter a number of at least 0, such as 1.5.",
    files: "Enter a whole number of at least 0.",
    nothing: "Choose at least one quota to change.",
    gone: "The user doesn't exist any more.",
    lastAdmin: "This is the last active administrator. Make another one first.",
    notAdmin: "You are not an administrator any more.",
    rule: "The home folder gets another name, which makes the path of a rule too long. Shorten that path first.",
  },
};
