import type { invites as zh } from "../../zh-CN/admin/invites";

export const invites: typeof zh = {
  list: "List of invites",
  create: "New invite",
  invite: "Invite",
  state: "Status",
  allStates: "Any status",
  states: { usable: "Works", usedUp: "Used up", expired: "Expired", stopped: "Its creator is no administrator" },
  uses: "Used",
  usesOf: (used, most) => `${used} of ${most}`,
  expires: "Expires",
  never: "Never",
  created: "Created",
  copy: "Copy link",
  copyOf: (name) => `Copy the invite link of ${name}`,
  copied: "Invite link copied",
  registration: {
    closed: "Registration is closed, but people with an invite can still register.",
    byInvite: "Registration needs an invite.",
    open: "Registration is open: people can register without an invite, too.",
  },
  empty: "No invites",
  emptyText:
    "Create an invite and send its link. Everyone who has the link can create an account until the invite is used up or expires.",
  noneLike: "No invites match",
  deleteOf: (name) => `Delete the invite “${name}”?`,
  deleteText: (left) =>
    `Its link stops working, and ${left === 1 ? "1 registration is" : `${left} registrations are`} lost. Accounts that were made with it stay.`,
  deleteUnusable: "It can't be used any more. Accounts that were made with it stay.",
  made: "Invite created",
  madeText: (uses) =>
    uses === 1 ? "Send this link. It is good for 1 account." : `Send this link. It is good for ${uses} accounts.`,
  link: "Invite link",
  qr: "QR code of the invite link",
  maxUses: "Accounts",
  maxUsesHelp: "How many accounts can be created with the link.",
  note: "Note",
  noteHelp: "Only administrators see it. For example, the person's name.",
  wrong: {
    maxUses: "Enter a whole number from 1 to 10,000.",
    expiresIn: "Choose a time at least a minute and at most ten years from now.",
    note: "Use at most 200 characters, and no control characters.",
    full: "There are 1,000 invites, which is the most. Delete some that are used up.",
  },
};
