/** The page of a share, which is built apart from the application and loads nothing of it. */
import { mount } from "svelte";
import { t, withTexts } from "./lib/i18n.svelte";
import { startLook } from "./lib/look.svelte";
import { start } from "./lib/router.svelte";
import { toast } from "./lib/toasts.svelte";

start();
window.addEventListener("vite:preloadError", () => {
  if (navigator.onLine) toast("error", t.common.stale, { label: t.common.reload, run: () => location.reload() });
});
await startLook(true);
const { default: Share } = await withTexts(import("./routes/Share.svelte"), "share");
mount(Share, { target: document.getElementById("app")! });
