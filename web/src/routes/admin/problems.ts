/** The errors of a form of the administration, by field; `form` is that of no single field. */
import { Failure } from "../../lib/api";
import { explain } from "../../lib/entry";

export type Problems<Name extends string> = Partial<Record<Name | "form", string>>;

/** The open dialog of a list, and the record that it changes or deletes; undefined for none. */
export type RecordDialog<Row> = { kind: "edit"; row?: Row } | { kind: "delete"; row: Row } | undefined;

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
