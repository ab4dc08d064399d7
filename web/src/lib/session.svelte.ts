/** The signed-in account, and the settings of the site. */
import {
  actFor,
  client,
  failure,
  Failure,
  forgetCsrf,
  halt,
  isHalted,
  listen,
  signInAgain,
  take,
  whoIsSignedIn,
  type Schemas,
} from "./api";
import { locale } from "./i18n.svelte";
import { setLook } from "./look.svelte";
import { announce, onAnnouncement } from "./tabs";
import { setUnstoredLook, unstoredLook, type LookChoices } from "./unstored";

class Session {
  /** The account, undefined for a visitor. */
  me = $state.raw<Schemas["ApiMySettingsReply"]>();
  site = $state.raw<Schemas["ApiPublicSettingsReply"]>();
  /**
   * The reason why the session has ended while the page was open, "" while it lasts. The shell then
   * asks the user to sign in over the page.
   */
  lost = $state("");
  /**
   * The name of the account that another tab has signed in. It is "" while the page does not know
   * the name, and after the other tab has signed out. It is undefined while the account of the page
   * is signed in. With any name, the page sends no requests until the user reloads it.
   */
  other = $state<string>();
  /** The last request did not reach the server. */
  offline = $state(false);
  /** The browser has no network; otherwise the server does not answer. */
  disconnected = $state(false);
  /** End of the pause that the server asked for (ms since the epoch), 0 without a pause. */
  pausedUntil = $state(0);
}

export const session = new Session();

let regained: { promise: Promise<boolean>; settle: (back: boolean) => void } | undefined;

/** Makes the shell show failures of the connection and of the session. */
function watch(): void {
  session.disconnected = !navigator.onLine;
  listen({
    paused: (until) => (session.pausedUntil = until),
    reached: (yes) => (session.offline = !yes),
    sessionLost(code) {
      if (!session.me) return Promise.resolve(false);
      if (!regained) {
        let settle!: (back: boolean) => void;
        const promise = new Promise<boolean>((resolve) => (settle = resolve));
        regained = { promise, settle };
        session.lost = code;
      }
      return regained.promise;
    },
    accountChanged: () => void showOther(),
  });
  onAnnouncement((account) => {
    if (!session.me) return;
    if (session.other !== undefined) void showOther();
    else if (isHalted()) return;
    else if (account === "") void signInAgain("SESSION_REVOKED");
    else if (account !== session.me.profile.id) {
      halt();
      void showOther();
    } else if (session.lost) goOn(); // the user has signed in again in another tab
  });
  window.addEventListener("offline", () => (session.offline = session.disconnected = true));
  window.addEventListener("online", () => (session.offline = session.disconnected = false));
}

let shows = 0;

/**
 * Shows which account is signed in now. If that is the account of the page again, the page is
 * loaded again, because its requests have stopped for good.
 */
async function showOther(): Promise<void> {
  const mine = ++shows;
  session.other = "";
  const answer = await fetch("/api/users/me/settings", { headers: { Accept: "application/json" } }).catch(
    () => undefined,
  );
  if (!answer?.ok) return;
  const { data } = (await answer.json()) as { data: Schemas["ApiMySettingsReply"] };
  if (mine !== shows) return; // the account has changed again
  session.other = data.profile.displayName ?? data.profile.username;
  if (data.profile.id === session.me?.profile.id) location.reload();
}

/** Goes on after the user has signed in again. */
function goOn(): void {
  forgetCsrf();
  session.lost = "";
  regained?.settle(true);
  regained = undefined;
}

/**
 * Loads the settings of the site and the account. Throws Failure when the service cannot be reached
 * or is starting.
 */
export async function begin(): Promise<void> {
  watch();
  const [site, me] = await Promise.all([take(client.GET("/api/public/settings")), settings()]);
  session.site = site;
  await arrive(me);
  if (!me) return;
  announce(me.profile.id);
  storeLook();
}

/** As begin, for a page that needs no account: it stays a visitor's. */
export async function beginVisit(): Promise<void> {
  watch();
  session.site = await take(client.GET("/api/public/settings"));
}

/** The settings of the signed-in account, undefined without one. */
async function settings(): Promise<Schemas["ApiMySettingsReply"] | undefined> {
  const { data, error, response } = await whoIsSignedIn();
  if (data) return data.data ?? undefined;
  if (response.status === 401 || response.status === 403) return undefined;
  throw failure(error, response.status, response.headers);
}

async function arrive(me: Schemas["ApiMySettingsReply"] | undefined): Promise<void> {
  const shown = me && changed(me, unstoredLook(me.profile.id));
  session.me = shown;
  actFor(shown?.profile.id ?? "");
  await setLook(shown ? { ...shown.appearance, locale: shown.profile.locale, ofSite: false } : { ofSite: true });
}

/** Returns the account with changed settings. */
function changed(me: Schemas["ApiMySettingsReply"], to: Settings): Schemas["ApiMySettingsReply"] {
  const within = <Part extends object>(part: Part): Part => ({
    ...part,
    ...Object.fromEntries(Object.entries(to).filter(([name]) => name in part)),
  });
  return { ...me, profile: within(me.profile), appearance: within(me.appearance) };
}

/**
 * Stores a choice of look in the account. The choice of a visitor is stored when the visitor signs
 * in. Throws Failure; the tab then keeps the choice, and the next page stores it.
 */
export async function keepLook(to: LookChoices): Promise<void> {
  const account = session.me?.profile.id ?? "";
  const unstored = { ...unstoredLook(account), ...to };
  setUnstoredLook(account, unstored);
  if (!account || Object.keys(unstored).length === 0) return;
  await changeSettings(unstored);
  // a later choice has its own request
  if (unstoredLook(account) === unstored) setUnstoredLook(account, {});
}

/** Stores the choices of look that the account does not have yet. */
function storeLook(): void {
  void keepLook({}).catch(() => undefined); // the next page tries it again
}

type Settings = Schemas["ApiChangeMySettingsInput"];

let stored: Promise<unknown> = Promise.resolve();

/** Stores settings in the account, one change after the other. Throws Failure. */
export async function changeSettings(to: Settings): Promise<void> {
  const storing = stored.then(() => take(client.PUT("/api/users/me/settings", { body: to })));
  stored = storing.catch(() => undefined);
  await storing;
  if (session.me) session.me = changed(session.me, to);
}

/** Shows another picture of the account; null for none. */
export function showAvatar(avatar: string | null): void {
  if (session.me) session.me = { ...session.me, profile: { ...session.me.profile, avatar } };
}

/** Loads the account again: its quota, its name, its look. */
export async function refresh(): Promise<void> {
  const { data, error, response } = await client.GET("/api/users/me/settings");
  if (!data) throw failure(error, response.status, response.headers);
  await arrive(data.data);
}

/**
 * Signs in. Throws Failure: INVALID_CREDENTIALS, USER_DISABLED, EMAIL_NOT_VERIFIED,
 * RATE_LIMIT_EXCEEDED, VALIDATION_ERROR (the bot check).
 */
export async function signIn(username: string, password: string, captchaToken?: string): Promise<void> {
  await take(client.POST("/api/auth/login", { body: { username, password, captchaToken } }));
  forgetCsrf();
  const me = await settings();
  if (!me) throw new Failure("UNAUTHORIZED", "The browser did not keep the session.");
  // the administrator of a new site has not chosen a language for the account yet
  if (me.setup === "steps") setUnstoredLook("", { locale: locale(), ...unstoredLook("") });
  announce(me.profile.id);
  if (session.me && session.me.profile.id !== me.profile.id) {
    halt(); // the screen shows the data of another account
    location.assign("/");
    return;
  }
  await arrive(me);
  storeLook();
  goOn();
}

/** Signs out, on every device. */
export async function signOut(): Promise<void> {
  await take(client.POST("/api/auth/logout"));
  announce("");
  location.assign("/app/login");
}

/**
 * Stops the page after its session has ended with a new password, and tells the other tabs. Only
 * loading a page leads on.
 */
export function passwordChanged(): void {
  halt();
  announce("");
}

/** Gives up the lost session and goes to the sign-in. */
export function leave(): void {
  regained?.settle(false);
  regained = undefined;
  location.assign("/app/login");
}
