/** Messages about a missing permission. Administrators can ask which rule has decided. */
import { Failure } from "./api";
import { explain } from "./entry";
import { explanationOf } from "./explained.svelte";
import { t } from "./i18n.svelte";
import { go } from "./router.svelte";
import { show, toast, type Toast } from "./toasts.svelte";

export type Needed = keyof typeof t.common.lacks;

/** The message that a permission at a path is missing. Its action may appear later: see Toast. */
export function refusal(needed: Needed, path: string): Omit<Toast, "id"> {
  return {
    kind: "error",
    text: t.common.lacks[needed],
    get action() {
      const why = explanationOf(path, needed, true);
      return why && { label: why.why, once: true, run: () => void go(why.address) };
    },
  };
}

/** Says that a permission at a path is missing. */
export function toastRefusal(needed: Needed, path: string): void {
  show(refusal(needed, path));
}

/** Says why something failed that needs a permission at a path. */
export function toastFailure(cause: unknown, needed: Needed, path: string): void {
  if (cause instanceof Failure && cause.code === "FORBIDDEN") toastRefusal(needed, path);
  else toast("error", explain(cause));
}
