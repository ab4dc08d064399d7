import type { gone as zhGone, shell as zh } from "../zh-CN/shell";

export const shell: typeof zh = {
  skip: "Skip to the content",
  nav: "Main",
  files: "Files",
  keys: "API keys",
  account: "Account",
  signOut: "Sign out",
  signIn: "Sign in",
  used: (used, most) => `${used} of ${most} used`,
  quota: "Storage",
  offline: "You're offline. Uploads continue when you're back online.",
  silent: "The server isn't answering. Uploads continue when it does.",
  paused: (seconds) => `The server is busy. Trying again in ${seconds} s.`,
  starting: "The service is starting…",
  unreachable: "Can't reach the server",
  dismiss: "Don't show again",
  announcements: "Announcements",
  more: "Show all",
  less: "Show less",
  notices: "Notices",
};

export const gone: typeof zhGone = {
  notFound: "Nothing here",
  notFoundText: "The link may be wrong, or the file was moved or deleted.",
  forbidden: "You can't see this",
  forbiddenText: "Your account doesn't have permission to read this. Ask your administrator if you need it.",
  unauthorized: "Sign in to see this",
  unauthorizedText: "This is not public.",
  locked: "This is protected by a password",
  lockedText: "Enter the password to open it.",
  password: "Password",
  open: "Open",
  failed: "Something went wrong",
  id: (time) => `If you report this, include this time: ${time}`,
  home: "Go to files",
};
