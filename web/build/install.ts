/**
 * The parts of the build by which browsers can install the page as an app: the manifest with its
 * icons, and the service worker (docs/adr/0024-service-worker.md).
 */
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";
import { closure, languages, namedBy } from "./assets.ts";

const hash = (content: string | Buffer) => createHash("sha256").update(content).digest("hex").slice(0, 8);

/** The icons, which e2e/browser/icons.mjs makes from src/icon.svg. Their names contain a hash. */
const icons = [
  { file: "app-192.png", sizes: "192x192", type: "image/png", purpose: "any" },
  { file: "app-512.png", sizes: "512x512", type: "image/png", purpose: "any" },
  { file: "maskable-512.png", sizes: "512x512", type: "image/png", purpose: "maskable" },
  { file: "apple-180.png", sizes: "180x180", type: "image/png", purpose: "" },
].map((icon) => {
  const [stem, extension] = icon.file.split(".");
  return { ...icon, name: `${stem}-${hash(readFileSync(`src/icons/${icon.file}`))}.${extension}` };
});

/** The colours of the canvas in src/app.css. */
const canvas = { light: "#f7f8fa", dark: "#111318" };

/** The manifest without the name of the app, which the server adds (internal/api/ui_install.go). */
function manifest(drawing: string): object {
  const pictures = icons.filter(({ purpose }) => purpose !== "");
  return {
    id: "/app/",
    start_url: "/app/",
    scope: "/app/",
    display: "standalone",
    background_color: canvas.light,
    theme_color: canvas.light,
    icons: [
      ...pictures.map(({ name, sizes, type, purpose }) => ({ src: `/app/assets/${name}`, sizes, type, purpose })),
      { src: `/app/${drawing}`, sizes: "any", type: "image/svg+xml", purpose: "any" },
    ],
    share_target: {
      action: "/app/share-target",
      method: "POST",
      enctype: "multipart/form-data",
      params: { files: [{ name: "files", accept: ["*/*"] }] },
    },
  };
}

/**
 * Names the manifest and the icon of iOS in the application's page, and writes both. A site behind
 * a proxy that asks for cookies answers the manifest only with them.
 */
export function installable(): Plugin {
  return {
    name: "installable",
    apply: "build",
    transformIndexHtml(html) {
      const apple = icons.find(({ file }) => file.startsWith("apple"))!;
      const tags = [
        `<link rel="manifest" href="/app/manifest.webmanifest" crossorigin="use-credentials" />`,
        `<link rel="apple-touch-icon" href="/app/assets/${apple.name}" />`,
        ...Object.entries(canvas).map(
          ([scheme, color]) =>
            `<meta name="theme-color" content="${color}" media="(prefers-color-scheme: ${scheme})" />`,
        ),
      ];
      return html.replace("<!-- app -->", () => tags.join("\n    "));
    },
    writeBundle({ dir }, bundle) {
      const drawing = Object.keys(bundle).find((name) => /^assets\/icon-[^/]+\.svg$/.test(name));
      if (!drawing) throw new Error("the build has no src/icon.svg");
      for (const { file, name } of icons) copyFileSync(`src/icons/${file}`, join(dir!, "assets", name));
      writeFileSync(join(dir!, "manifest.webmanifest"), JSON.stringify(manifest(drawing)));
    },
  };
}

/**
 * The constants of the service worker, which is built after the pages: a name of this build; the
 * script by which the worker recognizes the page of its own build; and the files of the first
 * screen, which the worker fetches when it is installed.
 */
export function workerBuild(): Record<string, string> {
  const page = readFileSync("dist/index.html", "utf8");
  const entry = /<script[^>]* src="([^"]+)"/.exec(page)?.[1];
  if (!entry) throw new Error("dist/index.html names no script");
  const names = closure(namedBy("index.html", ["files", ...languages])).sort();
  return { BUILD: JSON.stringify({ id: hash(page), entry, files: names.map((name) => `/app/assets/${name}`) }) };
}
