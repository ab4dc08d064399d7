/** The sentences of failures in free mode. */
import { Failure } from "../../lib/api";
import { explain } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import { problemsOf, type Problems } from "../../lib/problems";

/** The sentence for a failure of the bucket or of the session. */
export function sentence(cause: unknown): string {
  const code = cause instanceof Failure ? cause.code : "";
  return t.free.failures[code] ?? explain(cause);
}

export type Refused = Problems<keyof typeof t.stores.wrong | "endpoint" | "sessionHours">;

/** Longer pauses are those of the number of sessions, not of attempts. */
const longestPause = 60_000; // ms

/** The errors of a connection that was refused, by field. */
export function refused(cause: unknown): Refused {
  const { code, retryAfter } = cause instanceof Failure ? cause : { code: "", retryAfter: 0 };
  if (code === "RATE_LIMIT_EXCEEDED" && retryAfter > longestPause) return { form: t.free.wrong.sessions };
  if (code === "OPERATION_FAILED")
    return problemsOf(cause, { secretAccessKey: t.free.wrong.refused, endpoint: t.free.wrong.silent });
  const fields = { ...t.stores.wrong, endpoint: t.free.wrong.endpoint, sessionHours: t.free.wrong.hours };
  return problemsOf(cause, fields, { FORBIDDEN: t.free.wrong.insecure });
}

/** Reports whether an attempt may be repeated after a short pause. */
export function isPause(cause: unknown): boolean {
  return cause instanceof Failure && cause.retryAfter <= longestPause;
}
