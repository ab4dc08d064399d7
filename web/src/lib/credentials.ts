/** The rules for the name, the address and the password of an account. */
import { t } from "./i18n.svelte";

const shortestName = 3;
const longestName = 20;
const shortestPassword = 8;
const longestPassword = 128;

// A value that is being typed is not refused for being too short: `complete` says that it is whole.

/** The reason why a user name is refused, "" for none. */
export function nameProblem(name: string, complete: boolean): string {
  if (/[^A-Za-z0-9_]/.test(name)) return t.credentials.nameSigns;
  if (name.length > longestName) return t.credentials.nameLong(longestName);
  if (complete && name.length < shortestName) return t.credentials.nameShort(shortestName);
  return "";
}

/** The reason why an address is refused, "" for none. The server knows more. */
export function emailProblem(email: string, complete: boolean): string {
  return complete && !/^[^\s@]+@[^\s@]+$/.test(email) ? t.login.badEmail : "";
}

/** The reason why a new password is refused, "" for none. */
export function passwordProblem(password: string, complete: boolean): string {
  const length = [...password].length;
  if (length > longestPassword) return t.credentials.passwordLong(longestPassword);
  if (complete && length < shortestPassword) return t.credentials.passwordShort(shortestPassword);
  return "";
}
