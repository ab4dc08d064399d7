/** Copies text, also where the page is not a secure context and `navigator.clipboard` does not exist. Resolves to whether it worked. */
export async function copy(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // the browser refuses; the old way may still work
  }
  const from = document.activeElement as HTMLElement | null;
  const field = document.createElement("textarea");
  field.value = text;
  field.setAttribute("readonly", "");
  field.className = "visually-hidden";
  (from?.closest("dialog") ?? document.body).append(field); // what is outside an open dialog takes no focus
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  from?.focus();
  return done;
}
