/**
 * Parts of the administration outside of its pages: the links to the explanation of access, and the
 * mark of its own link. Their code and texts are loaded after the first screen, and only for
 * administrators.
 */
import type * as Parts from "../routes/admin/explanation";
import { withTexts } from "./i18n.svelte";
import { later } from "./later.svelte";
import { session } from "./session.svelte";

let loaded = $state.raw<typeof Parts>();
let loading: Promise<void> | undefined;

/** The parts, which the first call for an administrator loads. Undefined until then. Reactive. */
export function adminParts(): typeof Parts | undefined {
  if (session.me?.profile.role !== "admin") return undefined;
  loading ??= later(() => withTexts(import("../routes/admin/explanation"), "explained")).then((module) => {
    loaded = module;
  });
  return loaded;
}

/**
 * For administrators, the link to the explanation whether a visitor may do something at a path;
 * with `mine`, whether the user of the page may. `label` names the page, `why` asks about a
 * refusal. Undefined for others, and until the link is loaded. Reactive.
 */
export function explanationOf(
  path: string,
  permission: string,
  mine = false,
): ReturnType<typeof Parts.explanation> | undefined {
  return adminParts()?.explanation(path, permission, mine ? session.me!.profile.id : "");
}

/** Why the link of the administration has a mark; "" without one, and until its text is loaded. */
export function setUpMark(): string {
  return session.me?.setup === "done" ? "" : (adminParts()?.setUp() ?? "");
}
