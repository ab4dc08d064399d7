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
  offline: "You are offline. Uploads wait and go on by themselves.",
  silent: "The server does not answer. Uploads wait and go on by themselves.",
  paused: (seconds) => `The server asks for a pause. It goes on by itself in ${seconds} s.`,
  starting: "The service is starting…",
  unreachable: "The server cannot be reached",
  dismiss: "Don't show again",
  announcements: "Announcements",
  more: "Show all",
  less: "Show less",
  notices: "Notices",
};

export const gone: typeof zhGone = {
  notFound: "There is nothing here",
  notFoundText: "The link may be wrong, or what was here has been moved or deleted.",
  forbidden: "You may not see this",
  forbiddenText: "Your account doesn't have permission to read this. Ask your administrator if you need it.",
  unauthorized: "Sign in to see this",
  unauthorizedText: "This is not public.",
  locked: "This is protected by a password",
  lockedText: "Enter the password to open it.",
  password: "Password",
  open: "Open",
  failed: "Something went wrong",
  id: (time) => `When you report this, quote the time ${time}`,
  home: "Go to files",
};
