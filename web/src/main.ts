import { mount } from "svelte";
import App from "./App.svelte";
import { startLook } from "./lib/look.svelte";
import { install } from "./lib/install.svelte";
import { session } from "./lib/session.svelte";
import { start } from "./lib/router.svelte";
import { t } from "./lib/i18n.svelte";
import { toast } from "./lib/toasts.svelte";

start();
install.start();
// A late-loaded module may be unreachable, or removed because the service has been updated.
window.addEventListener("vite:preloadError", () => {
  // without a connection the page says that, and tries again when there is one
  if (navigator.onLine && !session.offline)
    toast("error", t.common.stale, { label: t.common.reload, run: () => location.reload() });
});
await startLook();
mount(App, { target: document.getElementById("app")! });
