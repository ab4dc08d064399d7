/** The form of the site settings. */
import { client, take, type Schemas } from "../../../lib/api";
import { number, t } from "../../../lib/i18n.svelte";
import { session } from "../../../lib/session.svelte";
import { asVisitors } from "../rules/counts";

export type Settings = Omit<Schemas["ApiSettingsReply"], "setup">;

/** The settings as fields show them: numbers as text, the password empty. */
export type Form = { [Name in keyof Settings]: Settings[Name] extends boolean ? boolean : string };

/** The settings that are on or off. */
export type Switched = {
  [Name in keyof Settings]: Settings[Name] extends boolean ? Name : never;
}[keyof Settings];

/** The settings that are texts and numbers. */
export type Written = {
  [Name in keyof Settings]: Settings[Name] extends boolean ? never : Name;
}[keyof Settings];

export function formOf(settings: Settings): Form {
  return {
    ...settings,
    rateLimitRequestsPerMinute: String(settings.rateLimitRequestsPerMinute),
    smtpPort: String(settings.smtpPort),
    trashDays: String(settings.trashDays),
    smtpPassword: "",
  };
}

const numbers = ["rateLimitRequestsPerMinute", "smtpPort", "trashDays"] as const;
const isNumber = (name: string) => (numbers as readonly string[]).includes(name);

/** The body of a request that stores the form: the changed settings alone. */
export function changesOf(form: Form, before: Form): Schemas["ApiChangeSettingsInput"] {
  const changed = Object.entries(form).filter(([name, value]) => value !== before[name as keyof Form]);
  const value = (name: string, value: string | boolean) =>
    typeof value === "boolean" || name === "smtpPassword" ? value : isNumber(name) ? Number(value) : value.trim();
  return Object.fromEntries(changed.map(([name, to]) => [name, value(name, to)]));
}

/** The errors that the server would find in the numbers. */
export function problemsOfNumbers(form: Form): Partial<Record<Written, string>> {
  const whole = (text: string, most: number, least = 1) =>
    /^\d{1,6}$/.test(text.trim()) && +text >= least && +text <= most;
  const { rateLimitRequestsPerMinute: requests, smtpPort, trashDays } = t.admin.site.wrong;
  return {
    ...(!whole(form.rateLimitRequestsPerMinute, 10_000) && { rateLimitRequestsPerMinute: requests }),
    ...(!whole(form.smtpPort, 65_535) && { smtpPort }),
    ...(!whole(form.trashDays, 365, 0) && { trashDays }),
  };
}

/**
 * A kind of loss that a change of the settings causes. The form names the losses before the
 * administrator saves the change. `unverified`: accounts without a verified address can't sign in.
 * `guests`: visitors can't open public entries and permanent links, and accounts lose what only the
 * rules for visitors allow. `free`: open sessions of free mode end. `trash`: the server deletes the
 * trash and all versions. `older`: the server deletes the items of the trash and the versions that
 * are older than the days.
 */
export type Loss = "unverified" | "guests" | "free" | "trash" | "older";

/** The kinds of losses that the changes of the form may have. */
export function lossesOf(form: Form, before: Form): Loss[] {
  const [days, former] = [form.trashDays.trim() || NaN, before.trashDays].map(Number) as [number, number];
  const hasFreeMode = ({ enableFreeMode, allowGuestAccess }: Form) => enableFreeMode && allowGuestAccess;
  return [
    ...(form.requireEmailVerification && !before.requireEmailVerification ? ["unverified" as const] : []),
    ...(before.allowGuestAccess && !form.allowGuestAccess ? ["guests" as const] : []),
    ...(hasFreeMode(before) && !hasFreeMode(form) ? ["free" as const] : []),
    ...(days >= 0 && days < former ? [days === 0 ? ("trash" as const) : ("older" as const)] : []),
  ];
}

/** The losses as sentences with numbers, "" if there are none. Throws Failure. */
export async function lossText(losses: readonly Loss[]): Promise<string> {
  const counts = await take(client.GET("/api/admin/settings/impact"));
  const { unverified, entries, links, accounts, free, trash, older } = t.admin.site.loses;
  const say = (words: (n: number, shown: string) => string, n: number) => (n > 0 ? words(n, number(n)) : "");
  const texts: Record<Loss, string[]> = {
    unverified: [say(unverified, counts.unverifiedUsers)],
    guests: [
      say(entries, counts.publicEntries),
      say(links, counts.permanentLinks),
      losses.includes("guests") ? say(accounts, await asVisitors()) : "",
    ],
    free: [say(free, counts.freeSessions)],
    trash: [trash],
    older: [older],
  };
  return losses
    .flatMap((loss) => texts[loss])
    .filter(Boolean)
    .join(" ");
}

/** Shows the new title and logo; after a failure they appear with the next page. */
export async function showSite(): Promise<void> {
  session.site = await take(client.GET("/api/public/settings")).catch(() => session.site);
}
