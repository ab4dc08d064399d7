/**
 * The links to the explanation of access, for administrators. Their code and texts are loaded after
 * the first screen, and other accounts load none of them.
 */
import type { explanation } from "../routes/admin/explanation";
import { withTexts } from "./i18n.svelte";
import { later } from "./later.svelte";
import { session } from "./session.svelte";

let loaded = $state.raw<typeof explanation>();
let loading: Promise<void> | undefined;

/** Loads the links if the user of the page is an administrator. */
export function loadExplanation(): void {
  if (session.me?.profile.role !== "admin") return;
  loading ??= later(() => withTexts(import("../routes/admin/explanation"), "explained")).then((module) => {
    loaded = module.explanation;
  });
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
): ReturnType<typeof explanation> | undefined {
  loadExplanation();
  const me = session.me?.profile;
  return me?.role === "admin" ? loaded?.(path, permission, mine ? me.id : "") : undefined;
}
