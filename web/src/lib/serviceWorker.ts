/** Registers the service worker, which browsers have on https and on localhost only. */
import { sweepReceived } from "./received";

export function registerWorker(): void {
  if (!import.meta.env.PROD || !("serviceWorker" in navigator)) return;
  // Without the worker, only a start without a connection and files of other apps are missing.
  navigator.serviceWorker.register("/app/sw.js", { scope: "/app/" }).catch(() => undefined);
  sweepReceived().catch(() => undefined);
}
