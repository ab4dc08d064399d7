import type { site as zh } from "../../zh-CN/admin/site";

export const site: typeof zh = {
  failed: "Couldn't load the settings.",
  look: "Site",
  access: "Access and accounts",
  trash: "Trash",
  protection: "Protection",
  mail: "Email",
  labels: {
    siteTitle: "Title",
    siteDescription: "Description",
    siteLogo: "Address of the logo",
    siteFavicon: "Address of the tab icon",
    siteAccent: "Accent color",
    allowGuestAccess: "Visitors see public content without an account",
    allowRegistration: "Anyone can register",
    requireInviteCode: "Registration needs an invite",
    requireEmailVerification: "New accounts verify their email address",
    enableFreeMode: "Free mode",
    trashDays: "Days in the trash",
    trashAll: "Every deletion goes to the trash",
    rateLimitEnabled: "Limit requests",
    rateLimitRequestsPerMinute: "Requests per minute",
    enableCaptcha: "Bot check at sign-in and registration",
    captchaSiteKey: "Site key of the bot check",
    emailEnabled: "Send email",
    smtpHost: "Mail server",
    smtpPort: "Port",
    smtpSecure: "TLS from the start",
    smtpUser: "User name",
    smtpPassword: "Password",
    smtpFromName: "Sender name",
    smtpFromEmail: "Sender address",
  },
  help: {
    siteTitle: "Shown on every page, on shares and in emails.",
    siteDescription: "Visitors see it. One line.",
    siteLogo: "An http(s) address, or a path of this site such as /public/logo.png. Leave it empty for the usual icon.",
    siteAccent:
      "For shares, public folders and the sign-in. Each account has an accent color of its own. The pages make it darker or lighter until words are easy to read.",
    allowGuestAccess:
      "When this is off, people without an account can't open public folders or permanent links, and free mode is off too. Shares still work.",
    allowRegistration: "Everyone can create an account at the sign-in. Invite links work even when this is off.",
    requireInviteCode: "An invite is needed even while everyone can register.",
    requireEmailVerification:
      "Needs email. Accounts can't sign in before they have verified their address, also those that exist already. Administrators always can.",
    enableFreeMode:
      "Visitors can use a bucket of their own for some hours. It takes none of your storage. Works only while visitors see public content without an account.",
    trashDays: "Deleted entries can be restored for so long. 0 switches the trash off and empties it.",
    trashAll: "Also deletions by WebDAV and API keys. Otherwise these delete for good.",
    rateLimitEnabled: "Per address and account. Sign-ins are always limited.",
    enableCaptcha: "Needs LARDER_CAPTCHA_VERIFY_URL and LARDER_CAPTCHA_SECRET on the server.",
    emailEnabled: "For verifying addresses, resetting passwords, and codes.",
    smtpSecure: "Usual for port 465. When this is off, STARTTLS is used if the server offers it.",
    smtpUser: "Leave it empty if the server needs no sign-in.",
    smtpPassword: "A password is stored. Leave this empty to keep it.",
    smtpFromName: "Leave it empty for the title of the site.",
  },
  loses: {
    unverified: (n, shown) =>
      n === 1
        ? "1 account has no verified address and can't sign in any more until it is verified."
        : `${shown} accounts have no verified address and can't sign in any more until it is verified.`,
    entries: (n, shown) =>
      n === 1
        ? "Visitors see 1 item at the top level, and can't open it any more."
        : `Visitors see ${shown} items at the top level, and can't open them any more.`,
    links: (n, shown) => (n === 1 ? "1 permanent link stops working." : `${shown} permanent links stop working.`),
    accounts: (n, shown) =>
      n === 1
        ? "Up to 1 account loses permissions that only rules for visitors grant."
        : `Up to ${shown} accounts lose permissions that only rules for visitors grant.`,
    free: (n, shown) =>
      n === 1
        ? "1 open free-mode session can't be used any more."
        : `${shown} open free-mode sessions can't be used any more.`,
    trash: "Everything in the trash, and all former versions of files, are deleted for good within a minute.",
    older: "Items in the trash and former versions that are older than that are deleted for good within a minute.",
  },
  wrong: {
    siteTitle: "Use at most 200 characters, and no control characters.",
    siteDescription: "Use one line of at most 500 characters.",
    siteLogo: "Enter an http(s) address, or a path of this site that begins with /.",
    siteFavicon: "Enter an http(s) address, or a path of this site that begins with /.",
    siteAccent: "Enter # and six hexadecimal digits.",
    trashDays: "Enter a whole number from 0 to 365.",
    rateLimitRequestsPerMinute: "Enter a whole number from 1 to 10,000.",
    enableCaptcha: "Set LARDER_CAPTCHA_VERIFY_URL and LARDER_CAPTCHA_SECRET on the server first.",
    captchaSiteKey: "Use at most 500 characters.",
    smtpHost: "Enter a host name or an IP address, without scheme and port.",
    smtpPort: "Enter a whole number from 1 to 65,535.",
    smtpUser: "Use at most 320 characters.",
    smtpPassword: "Use at most 1,000 characters.",
    smtpFromName: "Use at most 200 characters, and no control characters.",
    smtpFromEmail: "Enter a valid email address.",
  },
  test: {
    title: "Test email",
    to: "Send to",
    help: "Sends an email with the saved settings.",
    unsaved: "The test uses the saved settings. Save your changes first.",
    send: "Send test email",
    sending: "Sending…",
    sent: (to) => `The mail server accepted the email to ${to}.`,
    failed: "The email could not be sent.",
    address: "Enter a valid email address.",
    notSetUp: "Save a mail server and a sender address first, and check the address here.",
  },
};
