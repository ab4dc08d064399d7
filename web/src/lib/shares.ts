/** Shares: their state, the form of their settings, and bulk actions. */
import { client, Failure, take, type Schemas } from "./api";
import { each } from "./bulk";
import { explain } from "./entry";
import { t } from "./i18n.svelte";

/** A share of the signed-in user. */
export type Share = Schemas["ApiShareReply"];
/** The part of a share that lists show: of the user's own, and of all for administrators. */
export type ListedShare = Omit<Schemas["ApiAdminShareReply"], "creatorId" | "creatorName" | "creatorAvatar">;

export const statuses = ["active", "expired", "revoked"] as const;

/**
 * The state of a share for its visitors. A share whose file was deleted, or is not visible to its
 * creator any more, is `gone`; the API lists such a share as active until it is removed.
 */
export type State = "active" | "usedUp" | "expired" | "revoked" | "gone";

export function stateOf(share: ListedShare): State {
  if (share.status === "revoked") return "revoked";
  if (!share.file) return "gone";
  if (share.status === "expired") return "expired";
  return share.maxViews !== null && share.viewCount >= share.maxViews ? "usedUp" : "active";
}

/** The title, or a substitute for a share without a title whose file is gone. */
export function titleOf(share: Pick<ListedShare, "title">): string {
  return share.title || t.shares.goneTitle;
}

export const canChange = (share: Share) => share.status !== "revoked" && share.file !== null;
/** Only a share with an end can be extended. */
export const canExtend = (share: Share) => canChange(share) && share.expiresAt !== null;

const day = 86_400; // seconds
const year = 365 * day;

/** The new lifetime of a share whose end moves by some days: seconds from now, a year at most. */
export function extension(expiresAt: number, days: number, now = Date.now()): number {
  return Math.min(year, Math.floor((Math.max(expiresAt, now) - now) / 1000) + days * day);
}

/** Moves the end of a share; an expired one works again. Throws Failure. */
export async function extend(share: Share, days: number): Promise<Share> {
  const body = { expiresIn: extension(share.expiresAt!, days) };
  return (await take(client.PATCH("/api/shares/{id}", { params: { path: { id: share.id } }, body }))).share;
}

/** Revokes a share of the user. Throws Failure. */
export const revoke = ({ id }: ListedShare) =>
  awaitRevocation(client.DELETE("/api/shares/{id}", { params: { path: { id } } }));

/** Awaits a revocation. A share that does not exist any more counts as revoked. Throws Failure. */
export async function awaitRevocation(request: Parameters<typeof take>[0]): Promise<void> {
  try {
    await take(request);
  } catch (cause) {
    if (!(cause instanceof Failure) || cause.code !== "NOT_FOUND") throw cause;
  }
}

export interface Outcome<Some> {
  done: number;
  failed: Some[];
  /** The reason of the first failure, "" if there is none. */
  reason: string;
}

/** Applies an action to many shares, a few at a time. */
export async function forEach<Some>(
  shares: readonly Some[],
  action: (share: Some) => Promise<unknown>,
): Promise<Outcome<Some>> {
  const out: Outcome<Some> = { done: 0, failed: [], reason: "" };
  await each(shares, async (share) => {
    try {
      await action(share);
      out.done++;
    } catch (cause) {
      out.failed.push(share);
      out.reason ||= explain(cause, { NOT_FOUND: t.shares.wrong.gone, OPERATION_FAILED: t.shares.wrong.revoked });
    }
  });
  return out;
}

/** The settings of a share as a form has them. */
export interface Form {
  title: string;
  /** "" for none. */
  password: string;
  /** Whether a share keeps its password, gets another one, or has none any more. */
  change: "keep" | "change" | "remove";
  /** Seconds from now, null for no expiry, undefined to leave it unchanged. */
  expiry: number | null | undefined;
  /** Whole numbers; "" for no limit. */
  maxViews: string;
  maxDownloads: string;
  allowPreview: boolean;
  allowDownload: boolean;
}

export function emptyForm(): Form {
  return {
    title: "",
    password: "",
    change: "change",
    expiry: null,
    maxViews: "",
    maxDownloads: "",
    allowPreview: true,
    allowDownload: true,
  };
}

export function formOf(share: Share): Form {
  return {
    title: share.title === share.file?.name ? "" : share.title,
    password: "",
    change: share.hasPassword ? "keep" : "change",
    expiry: undefined,
    maxViews: share.maxViews === null ? "" : String(share.maxViews),
    maxDownloads: share.maxDownloads === null ? "" : String(share.maxDownloads),
    allowPreview: share.allowPreview,
    allowDownload: share.allowDownload,
  };
}

/** The errors of a form by field; `form` is that of no single field. */
export type Problems = Partial<Record<"title" | "password" | "expiry" | "maxViews" | "maxDownloads" | "form", string>>;

/** Control characters, line separators and text-direction overrides, which the server refuses. */
const unprintable = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u;

/**
 * Validates a form with the server's bounds. `hadPassword` is whether the share has a password,
 * which an empty new one would not replace.
 */
export function problemsOf(form: Form, hadPassword = false): Problems {
  const wrong = t.shares.wrong;
  const found: Problems = {};
  const password = form.change === "change" ? [...form.password].length : 1;
  if (password > 128 || (hadPassword && password === 0)) found.password = wrong.password;
  if (form.expiry != null && (form.expiry < 60 || form.expiry > year)) found.expiry = wrong.expiry;
  for (const name of ["maxViews", "maxDownloads"] as const) {
    const text = form[name].trim();
    if (text !== "" && !(/^\d{1,10}$/.test(text) && Number(text) >= 1 && Number(text) <= 1e9))
      found[name] = wrong.limit;
  }
  if ([...form.title.normalize("NFC")].length > 200 || unprintable.test(form.title)) found.title = wrong.title;
  return found;
}

/** The message for a refused form. `update` is whether the share exists already. */
export function refusal(cause: unknown, update: boolean): string {
  const wrong = t.shares.wrong;
  return explain(
    // the server names no screen in its message
    cause instanceof Failure && cause.code === "OPERATION_FAILED" ? new Failure(cause.code, "") : cause,
    {
      FORBIDDEN: t.common.lacks.share,
      NOT_FOUND: wrong.gone,
      PASSWORD_REQUIRED: wrong.locked,
      OPERATION_FAILED: update ? wrong.revoked : wrong.full,
    },
  );
}

const limit = (text: string) => (text.trim() === "" ? null : Number(text));

/** The body of a request that makes a share; settings that are not set are left out. */
export function creation(fileId: string, form: Form): Schemas["ApiCreateShareInput"] {
  const { title, password, expiry } = form;
  return {
    fileId,
    ...(title.trim() && { title }),
    ...(password && { password }),
    ...(expiry != null && { expiresIn: expiry }),
    maxViews: limit(form.maxViews),
    maxDownloads: limit(form.maxDownloads),
    allowPreview: form.allowPreview,
    allowDownload: form.allowDownload,
  };
}

/** The body of a request that changes a share: what the form changes, and nothing else. */
export function changes(form: Form, share: Share): Schemas["ApiChangeShareInput"] {
  const before = formOf(share);
  const { change, password, expiry } = form;
  return {
    ...(form.title !== before.title && { title: form.title.trim() === "" ? null : form.title }),
    ...(change === "remove" && { password: null }),
    ...(change === "change" && password && { password }),
    ...(expiry !== undefined && { expiresIn: expiry }),
    ...(form.maxViews !== before.maxViews && { maxViews: limit(form.maxViews) }),
    ...(form.maxDownloads !== before.maxDownloads && { maxDownloads: limit(form.maxDownloads) }),
    ...(form.allowPreview !== before.allowPreview && { allowPreview: form.allowPreview }),
    ...(form.allowDownload !== before.allowDownload && { allowDownload: form.allowDownload }),
  };
}
