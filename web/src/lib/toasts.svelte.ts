/**
 * Toasts: short messages at the edge of the page. Failures stay until they are closed; successes
 * disappear by themselves.
 */

export interface Toast {
  id: number;
  kind: "ok" | "error";
  text: string;
  /** An action that the user can take. */
  action?: { label: string; run: () => void } | undefined;
}

class Toasts {
  all = $state.raw<Toast[]>([]);
}

export const toasts = new Toasts();

const most = 3;
let last = 0;

export function toast(kind: Toast["kind"], text: string, action?: Toast["action"]): void {
  toasts.all = [...toasts.all.filter((old) => old.text !== text), { id: ++last, kind, text, action }].slice(-most);
}

export function dismiss(id: number): void {
  toasts.all = toasts.all.filter((one) => one.id !== id);
}
