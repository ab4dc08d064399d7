/**
 * Opens a modal dialog. The returned function closes it and restores the focus to the previous
 * element, or to the content if that element is gone. It also does so when the dialog has already
 * left the page, where the browser does not.
 */
export function modal(dialog: HTMLDialogElement): () => void {
  const from = document.activeElement as HTMLElement | null;
  // app.css makes the page behind a dialog that fills the window narrower by this space. The page
  // reserves it for a scroll bar, except while such a dialog is open.
  const page = document.documentElement;
  if (!page.querySelector("dialog.whole[open]"))
    page.style.setProperty("--scroll-bar", `${innerWidth - page.getBoundingClientRect().width}px`);
  dialog.showModal();
  return () => {
    dialog.close();
    if (document.activeElement && document.activeElement !== document.body) return;
    (from?.isConnected ? from : document.getElementById("content"))?.focus({ preventScroll: true });
  };
}
