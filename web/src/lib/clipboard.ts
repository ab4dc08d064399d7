/**
 * Copies text, also on pages without a secure context, where `navigator.clipboard` does not exist.
 * The text may still be under way: browsers that allow copying only during a click or a key press
 * accept it then (Safari). Resolves to whether it succeeded; rejects like the text.
 */
export async function copy(text: string | Promise<string>): Promise<boolean> {
  try {
    if (navigator.clipboard && typeof text !== "string" && typeof ClipboardItem !== "undefined") {
      const blob = text.then((ready) => new Blob([ready], { type: "text/plain" }));
      blob.catch(() => undefined); // a browser that refuses the write handles no failure of the text
      await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
      return true;
    }
  } catch {
    // the browser refuses a text that is under way, or there is none
  }
  const ready = await text;
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(ready);
      return true;
    }
  } catch {
    // the browser refuses; execCommand may still work
  }
  const from = document.activeElement as HTMLElement | null;
  const field = document.createElement("textarea");
  field.value = ready;
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
