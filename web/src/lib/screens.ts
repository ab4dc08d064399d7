/** The screens that the signed-in user can open. */
import folder from "lucide:folder";
import keyRound from "lucide:key-round";
import share from "lucide:share-2";
import shield from "lucide:shield-check";
import { t } from "./i18n.svelte";
import { session } from "./session.svelte";

export function screens(): { href: string; label: string; icon: string }[] {
  return [
    { href: "/app/files", label: t.shell.files, icon: folder },
    { href: "/app/shares", label: t.shell.shares, icon: share },
    { href: "/app/keys", label: t.shell.keys, icon: keyRound },
    ...(session.me?.profile.role === "admin" ? [{ href: "/app/admin", label: t.shell.admin, icon: shield }] : []),
  ];
}
