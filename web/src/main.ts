import { mount } from "svelte";
import App from "./App.svelte";
import { startLook } from "./lib/look.svelte";
import { start } from "./lib/router.svelte";

start();
await startLook();
mount(App, { target: document.getElementById("app")! });
