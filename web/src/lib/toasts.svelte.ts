/**
 * Toasts: short messages at the edge of the page. Failures stay until they are closed; successes
 * disappear by themselves.
 */

interface Action {
  label: string;
  run: () => void;
  /** It belongs to this toast alone: a later toast with the same text does not replace this one. */
  once?: boolean;
}

export interface Toast {
  id: number;
  kind: "ok" | "error";
  text: string;
  /** An action that the user can take. As a getter of reactive state, it may appear later. */
  action?: Action | undefined;
}

class Toasts {
  all = $state.raw<Toast[]>([]);
}

export const toasts = new Toasts();

const most = 3;
let last = 0;

export function toast(kind: Toast["kind"], text: string, action?: Toast["action"]): void {
  show({ kind, text, action });
}

/** Makes a message a toast. */
export function show(message: Omit<Toast, "id">): void {
  const others = toasts.all.filter((old) => old.text !== message.text || old.action?.once);
  toasts.all = [...others, Object.assign(message, { id: ++last })].slice(-most);
}

export function dismiss(id: number): void {
  toasts.all = toasts.all.filter((one) => one.id !== id);
}
