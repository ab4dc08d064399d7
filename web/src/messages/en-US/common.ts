import type { common as zh, failures as zhFailures } from "../zh-CN/common";

export const common: typeof zh = {
  cancel: "Cancel",
  close: "Close",
  save: "Save",
  retry: "Retry",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "The browser does not allow copying. Select the text and copy it by hand.",
  progress: (done, total) => `${done} of ${total}`,
  loading: "Loading…",
  more: "More",
  download: "Download",
  language: "Language",
  theme: "Appearance",
  themes: { light: "Light", dark: "Dark", system: "As the system" },
};

export const failures: typeof zhFailures = {
  VALIDATION_ERROR: "The server does not accept what was entered.",
  NETWORK: "The server cannot be reached.",
  INTERNAL_ERROR: "Something went wrong on the server. Try again in a moment.",
  FORBIDDEN: "You don't have the permission for that.",
  NOT_FOUND: "It does not exist, or has been moved or deleted.",
  ALREADY_EXISTS: "There is something of that name already.",
  QUOTA_EXCEEDED: "There is not enough storage left.",
  PAYLOAD_TOO_LARGE: "The file is too large.",
  RATE_LIMIT_EXCEEDED: "Too many requests. Please wait a moment.",
  OPERATION_FAILED: "That could not be done.",
  PASSWORD_REQUIRED: "It is protected by a password.",
  INVALID_PASSWORD: "That is not the password.",
  UPLOAD_SESSION_EXPIRED: "The upload has expired.",
  USER_DISABLED: "This account is disabled.",
  SESSION_REVOKED: "You have been signed out elsewhere.",
  ROLE_CHANGED: "Your role has changed. Sign in again.",
  UNAUTHORIZED: "Please sign in.",
};
