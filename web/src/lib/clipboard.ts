/**
 * Copies text, also on pages without a secure context, where `navigator.clipboard` does not exist.
 * Resolves to whether it succeeded.
 */
export async function copy(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // the browser refuses; execCommand may still work
  }
  const from = document.activeElement as HTMLElement | null;
  const field = document.createElement("textarea");
  field.value = text;
  field.setAttribute("readonly", "");
  field.className = "visually-hidden";
  // elements outside of an open dialog cannot take the focus
  (from?.closest("dialog") ?? document.body).append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  from?.focus();
  return done;
}
