import type { errors as zh } from "../zh-CN/errors";

export const errors: typeof zh = {
  notFound: "Nothing here",
  notFoundText: "The link may be wrong, or the file was moved or deleted.",
  forbiddenText: "Your account doesn't have permission to read this.",
  ask: "Ask your administrator if you need it.",
  unauthorized: "Sign in to see this",
  unauthorizedText: "This is not public.",
  locked: "This is protected by a password",
  lockedText: "Enter the access password to open it.",
  password: "Access password",
  open: "Open",
  id: (time) => `If you report this, include this time: ${time}`,
};
