/** The errors of a form, by field; `form` is that of no single field. */
import { Failure } from "./api";
import { explain } from "./entry";

export type Problems<Name extends string> = Partial<Record<Name | "form", string>>;

/**
 * The errors of a request that was refused. `sentences` has the sentence of each field that the
 * form shows; the failure of another field, or of none, is that of the form.
 */
export function problemsOf<Name extends string>(
  cause: unknown,
  sentences: Partial<Record<Name, string>>,
  words: Record<string, string> = {},
): Problems<Name> {
  const field = cause instanceof Failure ? (cause.field as Name) : undefined;
  const sentence = field && sentences[field];
  return (sentence ? { [field]: sentence } : { form: explain(cause, words) }) as Problems<Name>;
}
