/** Notifications in words. */
import circleAlert from "lucide:circle-alert";
import circleCheck from "lucide:circle-check";
import clock from "lucide:clock";
import hardDrive from "lucide:hard-drive";
import type { Schemas } from "../../lib/api";
import { dateTime, locale, number, t } from "../../lib/i18n.svelte";
import { address } from "../../lib/router.svelte";

export type Notification = Schemas["ApiNotificationReply"];

interface Sentence {
  icon: string;
  kind: "ok" | "warn" | "danger";
  title: string;
  text: string;
  /** Where the notification leads to. */
  href: string;
}

/** The sentence of a notification, with its icon and link; `now` is the time in ms. */
export function sentence(one: Notification, now: number): Sentence {
  switch (one.kind) {
    case "job":
      return job(one);
    case "share": {
      const [name, end] = [one.name ?? "", one.expiresAt ?? 0];
      return end > now
        ? warn(clock, t.notices.expires(name, dateTime(end)), t.notices.extend, "/app/shares")
        : warn(clock, t.notices.expired(name, dateTime(end)), "", "/app/shares");
    }
    case "quota":
      return warn(hardDrive, t.notices.quota(number(one.percent ?? 0)), t.notices.quotaText, "/app/settings/storage");
    case "upload": {
      const kept = one.keptUntil ?? 0;
      return {
        icon: circleAlert,
        kind: "danger",
        title: t.notices.upload(one.name ?? ""),
        text: kept > now ? t.notices.uploadKept(dateTime(kept)) : t.notices.uploadAgain,
        href: folder(one),
      };
    }
  }
}

function job(one: Notification): Sentence {
  const name = one.name ? t.notices.named(one.name) : t.notices.item;
  const evacuation = one.jobType === "evacuate"; // of a storage or a mount
  const path = (evacuation ? one.target : one.path) ?? "/";
  const move = one.jobType === "move" || evacuation;
  const rewind = one.jobType === "rewind";
  const href = evacuation ? "/app/admin/storage" : folder(one);
  if (one.status === "failed")
    return {
      icon: circleAlert,
      kind: "danger",
      title: rewind ? t.notices.rewindFailed(name) : (move ? t.notices.moveFailed : t.notices.copyFailed)(name, path),
      text: (locale() === "en-US" && one.error) || (evacuation ? "" : t.notices.failed), // the server speaks English
      href,
    };
  if (rewind) return { icon: circleCheck, kind: "ok", title: t.notices.rewound(name), text: "", href };
  const jobs = one.jobs ?? 1;
  const title =
    jobs > 1
      ? (move ? t.notices.movedMany : t.notices.copiedMany)(number(jobs), path)
      : (move ? t.notices.moved : t.notices.copied)(name, path);
  const files = one.files ?? 0;
  return { icon: circleCheck, kind: "ok", title, text: files > 1 ? t.notices.files(files, number(files)) : "", href };
}

function warn(icon: string, title: string, text: string, href: string): Sentence {
  return { icon, kind: "warn", title, text, href };
}

const folder = (one: Notification) => address("/app/files", one.path ?? "/");
