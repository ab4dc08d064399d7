/**
 * The page of the UI kit, for work on its components and for their browser test; never part of the
 * product. `npm run dev` shows it at /app/kit.html, `vite build --mode kit` builds it.
 * ?lang=zh-CN and ?theme=dark set the language and the theme.
 */
import { mount } from "svelte";
import "../src/app.css";
import { setLocale, withTexts } from "../src/lib/i18n.svelte";
import { setLook } from "../src/lib/look.svelte";

const query = new URLSearchParams(location.search);
await setLocale(query.get("lang") === "zh-CN" ? "zh-CN" : "en-US");
await setLook({ theme: query.get("theme") ?? "system" });
const { default: Kit } = await withTexts(import("./Kit.svelte"), "ui");
mount(Kit, { target: document.getElementById("app")! });
