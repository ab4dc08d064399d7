/**
 * The choices of look that no account has stored yet: a visitor's, and those whose request has not
 * succeeded. They override the look of the account, also after the tab has loaded the page again.
 */
import type { Schemas } from "./api";

export type LookChoices = Pick<Schemas["ApiChangeMySettingsInput"], "theme" | "locale" | "accentColor" | "enableBlur">;

interface Unstored {
  /** The id of the account that has chosen, "" for a visitor. */
  account: string;
  look: LookChoices;
}

const key = "larder.look.unstored";
let last = read();

function read(): Unstored {
  try {
    const stored = JSON.parse(sessionStorage.getItem(key) ?? "{}") as Partial<Unstored>;
    return { account: "", look: {}, ...stored };
  } catch {
    return { account: "", look: {} }; // the tab has no storage, or invalid content
  }
}

/** The choices that apply to an account: its own, and a visitor's. */
export function unstoredLook(account: string): LookChoices {
  return last.account === account || last.account === "" ? last.look : {};
}

/** Replaces the choices. */
export function setUnstoredLook(account: string, look: LookChoices): void {
  last = { account, look };
  try {
    sessionStorage.setItem(key, JSON.stringify(last));
  } catch {
    // without storage, they last as long as the page
  }
}
