/** The sentences for refused settings. */
import { Failure } from "../../lib/api";
import { explain } from "../../lib/entry";
import { span, t } from "../../lib/i18n.svelte";

/**
 * The sentence for a failure. `words` has those of codes that have one meaning at the field; they
 * replace the server's message in English too.
 */
export function failed(cause: unknown, words: Record<string, string> = {}): string {
  if (!(cause instanceof Failure)) return explain(cause);
  if (cause.code === "RATE_LIMIT_EXCEEDED" && cause.retryAfter > 0) return t.settings.wait(span(cause.retryAfter));
  return words[cause.code] ?? explain(cause);
}
