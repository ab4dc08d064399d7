/** The screens that the signed-in user can open. */
import folder from "lucide:folder";
import keyRound from "lucide:key-round";
import share from "lucide:share-2";
import shield from "lucide:shield-check";
import trash from "lucide:trash-2";
import { t } from "./i18n.svelte";
import { address } from "./router.svelte";
import { session } from "./session.svelte";

interface Screen {
  href: string;
  /** Where the addresses of the screen begin, if `href` is one of many. */
  below?: string;
  label: string;
  /** The label in the narrow bar of phones. */
  short: string;
  /** The accessible name in both places, if both labels are part of it. */
  name?: string;
  icon: string;
  /** Why the link has a mark, "" for none. */
  mark?: string;
}

/** The address of the opening folder of the account; that of the root for a visitor. */
export function ownFiles(): string {
  return address("/app/files", session.me?.profile.defaultPath ?? "");
}

export function screens(): Screen[] {
  return [
    { href: ownFiles(), below: "/app/files", label: t.shell.files, short: t.shell.files, icon: folder },
    { href: "/app/shares", label: t.shell.shares, short: t.shell.sharesShort, name: t.shell.shares, icon: share },
    ...(session.me && session.me.trashDays > 0
      ? [{ href: "/app/trash", label: t.shell.trash, short: t.shell.trash, icon: trash }]
      : []),
    { href: "/app/keys", label: t.shell.keys, short: t.shell.keysShort, name: t.shell.keys, icon: keyRound },
    ...(session.me?.profile.role === "admin"
      ? [
          {
            href: "/app/admin",
            label: t.shell.admin,
            short: t.shell.adminShort,
            icon: shield,
            mark: session.me.setup === "done" ? "" : t.shell.setUp,
          },
        ]
      : []),
  ];
}

/**
 * For administrators, the address of the explanation whether a visitor may do something at a path;
 * with `mine`, whether the user of the page may. "" for others.
 */
export function explainAccess(path: string, permission: "read" | "download", mine = false): string {
  const me = session.me?.profile;
  if (me?.role !== "admin") return "";
  const question = `explain=1&permission=${permission}&path=${encodeURIComponent(path)}`;
  return `/app/admin/rules?${question}${mine ? `&user=${me.id}` : ""}`;
}
