/** The signed-in account, and the settings of the site. */
import { client, failure, Failure, forgetCsrf, listen, take, type Schemas } from "./api";
import { setLook } from "./look.svelte";

class Session {
  /** The account, undefined for a visitor. */
  me = $state.raw<Schemas["ApiMySettingsReply"]>();
  site = $state.raw<Schemas["ApiPublicSettingsReply"]>();
  /**
   * The reason why the session has ended while the page was open, "" while it lasts. The shell then
   * asks the user to sign in over the page.
   */
  lost = $state("");
  offline = $state(false);
  /** End of the pause that the server asked for (ms since the epoch), 0 without a pause. */
  pausedUntil = $state(0);
}

export const session = new Session();

let regained: { promise: Promise<boolean>; settle: (back: boolean) => void } | undefined;

/** Makes the shell show failures of the connection and of the session. */
function watch(): void {
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
  });
  window.addEventListener("offline", () => (session.offline = true));
  window.addEventListener("online", () => (session.offline = false));
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
}

/** The settings of the signed-in account, undefined without one. */
async function settings(): Promise<Schemas["ApiMySettingsReply"] | undefined> {
  const { data, error, response } = await client.GET("/api/users/me/settings");
  if (data) return data.data ?? undefined;
  if (response.status === 401 || response.status === 403) return undefined;
  throw failure(error, response.status, response.headers);
}

async function arrive(me: Schemas["ApiMySettingsReply"] | undefined): Promise<void> {
  session.me = me;
  if (me) await setLook({ ...me.appearance, locale: me.profile.locale });
}

/**
 * The look that was chosen before the sign-in. It overrides the look of the account that signs in.
 */
let chosen: LookSettings = {};

type LookSettings = Pick<Schemas["ApiChangeMySettingsInput"], "theme" | "locale" | "accentColor" | "enableBlur">;

/** Stores a choice of look in the account. If that fails, only the browser keeps it. */
export async function keepLook(to: LookSettings): Promise<void> {
  if (!session.me) chosen = { ...chosen, ...to };
  else await take(client.PUT("/api/users/me/settings", { body: to })).catch(() => undefined);
}

/** Loads the account again: its quota, its name, its look. */
export async function refresh(): Promise<void> {
  await arrive(await settings());
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
  me.profile.locale = chosen.locale ?? me.profile.locale;
  me.appearance.theme = chosen.theme ?? me.appearance.theme;
  const other = session.me && session.me.profile.username !== me.profile.username;
  await arrive(me);
  if (Object.keys(chosen).length > 0) void keepLook(chosen);
  chosen = {};
  session.lost = "";
  regained?.settle(!other);
  regained = undefined;
  if (other) location.assign("/app/files"); // the screen shows the data of another account
}

/** Signs out, on every device. */
export async function signOut(): Promise<void> {
  await take(client.POST("/api/auth/logout"));
  forgetCsrf();
  location.assign("/app/login");
}

/** Gives up the lost session and goes to the sign-in. */
export function leave(): void {
  regained?.settle(false);
  regained = undefined;
  location.assign("/app/login");
}
