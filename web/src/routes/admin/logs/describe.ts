/** What an entry of the access log says was done. */
import type { Schemas } from "../../../lib/api";
import { t } from "../../../lib/i18n.svelte";

/** The endpoint of an administrator's change: the kind of thing, and what is done with one. */
const endpoint = /^\/api\/admin\/(storage\/providers|[a-z]+)(?:\/[^/]+)?(?:\/([a-z]+))?$/;

/**
 * Returns the name of an entry's action, such as "Mount deleted". It is the name of the kind of
 * action where the entry doesn't have more: it has no method, or the endpoint is unknown.
 */
export function describe({ action, method, path }: Pick<Schemas["ApiActivityReply"], "action" | "method" | "path">) {
  const { actions, changes } = t.admin.logs;
  const kind = actions[action as keyof typeof actions] ?? action;
  if (action === "webdav" && method) return `${kind} ${method}`;
  const [, things = action, verb] = endpoint.exec(path) ?? [];
  return changes[`${method} ${things}${verb ? `/${verb}` : ""}` as keyof typeof changes] ?? kind;
}
