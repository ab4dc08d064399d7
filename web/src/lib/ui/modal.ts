/**
 * Opens a dialog over everything else. The function that it returns closes it and gives the focus back to where it was, or to the content when that is
 * gone; also when the dialog has left the page already, where the browser does not.
 */
export function modal(dialog: HTMLDialogElement): () => void {
  const from = document.activeElement as HTMLElement | null;
  dialog.showModal();
  return () => {
    dialog.close();
    if (document.activeElement && document.activeElement !== document.body) return;
    (from?.isConnected ? from : document.getElementById("content"))?.focus();
  };
}
