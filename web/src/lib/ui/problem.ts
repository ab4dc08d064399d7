/** Focuses the first refused field of a form, or else its error message. */
export function focusProblem(form: HTMLElement | undefined): void {
  const wrong = form?.querySelector<HTMLElement>("[aria-invalid=true], [role=alert]:not(:empty)");
  wrong?.focus();
  if (wrong instanceof HTMLInputElement) wrong.select();
}
