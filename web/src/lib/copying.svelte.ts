/**
 * The command that copies links, for every screen. The first time it asks who shall be able to open
 * them, and then remembers the answer.
 */
import { Failure } from "./api";
import { copy } from "./clipboard";
import type { Entry } from "./entry";
import { dateTime, t } from "./i18n.svelte";
import type { Made } from "./linkTexts";
import { chosen, possible, proposed, remember, remembered, rememberKind, type Choice, type Kind } from "./links";
import type { Toast } from "./toasts.svelte";
import { toast } from "./toasts.svelte";

export type Answer = Pick<Choice, "kind" | "lifetime" | "format">;

interface Question {
  entries: readonly Entry[];
  initial: Answer;
  /** Undefined when the user does not want to copy. */
  answer: (answer: Answer | undefined) => void;
}

class Copying {
  /** The question on the screen. */
  question = $state.raw<Question>();
}

export const copying = new Copying();

type Show = (kind: Toast["kind"], text: string, action?: Toast["action"]) => void;

function ask(entries: readonly Entry[]): Promise<Answer | undefined> {
  const { lifetime, format } = remembered();
  const kind = proposed(entries);
  return new Promise((resolve) => {
    copying.question = {
      entries,
      initial: { kind, lifetime, format },
      answer(given) {
        copying.question = undefined;
        if (given) {
          remember({ format: given.format });
          rememberKind(entries, given, kind);
        }
        resolve(given);
      },
    };
  });
}

/**
 * Copies the links of entries as the user has chosen before, and shows who can open them. It does
 * not ask if only one kind of link is possible; `again` asks in any case. Throws Failure.
 */
export async function copyLinks(
  entries: readonly Entry[],
  { again = false, show = toast as Show, intro = "" } = {},
): Promise<void> {
  const before = remembered();
  // a link for everyone that is not possible becomes the path link, with the reason
  const kind = chosen(entries) ?? (possible(entries).length > 1 ? undefined : "permanent");
  const answer = kind && !again ? { kind } : await ask(entries);
  if (!answer) return;
  const choice = { ...before, ...answer };
  // not awaited: the browser allows copying only during a click or a key press
  const making = import("./linkTexts")
    .catch(() => Promise.reject(new Failure("NETWORK", "")))
    .then(({ makeLinks }) => makeLinks(entries, choice));
  const text = making.then(({ lines }) => lines.join("\n"));
  const done = await copy(text);
  const made = await making;
  if (done)
    show("ok", intro + outcome(made, choice.kind, entries), {
      label: t.links.change,
      run: () => void copyLinks(entries, { again: true, show }).catch(() => undefined),
    });
  else {
    const ready = await text;
    // a click on the button may copy where a script alone may not
    const retry = () =>
      void copy(ready).then((now) => show(now ? "ok" : "error", now ? t.common.copied : t.common.copyFailed));
    show("error", intro + t.links.blocked, { label: t.links.copy, run: retry });
  }
}

/** Says who can open the links that were copied. */
export function outcome(
  { lines, asChosen, obstacle, missing, until }: Made,
  kind: Kind,
  entries: readonly Entry[],
): string {
  const { copied } = t.links;
  const n = lines.length;
  const byPath = entries.every((entry) => entry.public) ? t.links.copiedPublic(n) : copied.path(n, "");
  const sentences: string[] = [];
  if (kind === "path") sentences.push(byPath);
  else if (asChosen === 0) sentences.push(byPath, t.links.notChosen(obstacle));
  else {
    sentences.push(copied[kind](n, until ? dateTime(until) : ""));
    if (asChosen < n) sentences.push(t.links.someNotChosen(n - asChosen, obstacle));
  }
  if (missing > 0) sentences.push(t.links.skipped(missing));
  return sentences.join(t.links.joint);
}
