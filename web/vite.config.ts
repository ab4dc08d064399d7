import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { installable, workerBuild } from "./build/install.ts";

/** Placeholder that the server replaces with the nonce of each response. */
const nonce = "LARDER-NONCE";

/** Where src/boot.js has the files. */
const place = "{}; /* files */";

/**
 * Inlines src/boot.js into the page: it runs before the first paint and costs no request. The
 * plugin passes it the files that a screen or a language needs in addition to those that the page
 * names.
 */
function boot(): Plugin {
  return {
    name: "boot",
    transformIndexHtml: {
      order: "post",
      handler(html, { bundle }) {
        const chunks = Object.values(bundle ?? {}).filter((file) => file.type === "chunk");
        const filesOf = (module: string) => {
          const entry = chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith(module));
          const names = chunks.filter((chunk) => chunk === entry || entry?.imports.includes(chunk.fileName));
          const all = names.flatMap(({ fileName, viteMetadata }) => [fileName, ...(viteMetadata?.importedCss ?? [])]);
          return all.filter((name) => !html.includes(name)).map((name) => `/app/${name}`);
        };
        const more = {
          files: filesOf("/routes/Files.svelte"),
          login: filesOf("/routes/Login.svelte"),
          "zh-CN": filesOf("/messages/zh-CN/index.ts"),
          "en-US": filesOf("/messages/en-US/index.ts"),
          share: filesOf("/routes/Share.svelte"),
          "share zh-CN": filesOf("/messages/zh-CN/share.ts"),
          "share en-US": filesOf("/messages/en-US/share.ts"),
        };
        const source = readFileSync("src/boot.js", "utf8").trim();
        if (!source.includes(place)) throw new Error(`src/boot.js lacks ${place}`);
        const script = source.replace(place, `${JSON.stringify(more)};`);
        return html.replace("<!-- boot -->", () => `<script nonce="${nonce}">\n${script}\n</script>`);
      },
    },
  };
}

/**
 * Inlines src/icon.svg as the icon of the page. Browsers do not share the file of an icon with the
 * pictures of a page, so they would request it twice.
 */
function inlineIcon(): Plugin {
  return {
    name: "inlineIcon",
    transformIndexHtml(html) {
      const icon = `data:image/svg+xml,${encodeURIComponent(readFileSync("src/icon.svg", "utf8").trim())}`;
      return html.replace("<!-- icon -->", () => `<link rel="icon" href="${icon}" />`);
    },
  };
}

/** Resolves `import shape from "lucide:folder"` to the content of the svg element of that icon. */
function icons(): Plugin {
  return {
    name: "icons",
    enforce: "pre",
    resolveId: (id) => (id.startsWith("lucide:") ? `\0${id}` : null),
    load(id) {
      if (!id.startsWith("\0lucide:")) return null;
      const svg = readFileSync(`node_modules/lucide-static/icons/${id.slice("\0lucide:".length)}.svg`, "utf8");
      const inner = /<svg[^>]*>([\s\S]*)<\/svg>/.exec(svg)![1]!.replace(/\s+/g, " ").replaceAll(" />", "/>").trim();
      return `export default ${JSON.stringify(inner)}`;
    },
  };
}

/**
 * The pages and the service worker, which are built one by one: none has to load what only another
 * needs.
 */
const pages: Record<string, string> = {
  production: "index.html",
  share: "share.html",
  kit: "kit.html",
  worker: "src/worker/worker.ts",
};

/**
 * Writes compressed copies beside the files that become smaller. The server sends the copies as
 * they are.
 */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    writeBundle({ dir }) {
      const assets = join(dir!, "assets");
      const names = readdirSync(assets);
      for (const name of names) {
        if (/\.(br|gz)$/.test(name) || names.includes(`${name}.br`)) continue; // of the page built before
        const file = join(assets, name);
        const plain = readFileSync(file);
        const copies = {
          br: brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
          gz: gzipSync(plain, { level: 9 }),
        };
        for (const [extension, copy] of Object.entries(copies)) {
          if (copy.length < plain.length * 0.9) writeFileSync(`${file}.${extension}`, copy);
        }
      }
    },
  };
}

export default defineConfig(({ mode }) => ({
  plugins: [
    icons(),
    svelte(),
    ...(mode === "worker"
      ? []
      : [boot(), inlineIcon(), ...(mode === "production" ? [installable()] : []), compressed()]),
  ],
  ...(mode === "worker" && { define: workerBuild() }),
  base: "/app/",
  html: { cspNonce: nonce },
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // the policy of the page allows styles and scripts from files only
    modulePreload: { polyfill: false },
    // The page of a share and the service worker are built after the application, into the same
    // directory.
    emptyOutDir: mode !== "share" && mode !== "worker",
    sourcemap: false,
    reportCompressedSize: false,
    // Few files, because on a phone each request costs more than its bytes: one file for the shell
    // around every screen, one for the screen of files, which most users open, and one for the
    // sign-in. Code that only panels need is loaded when they open.
    rolldownOptions: {
      checks: { pluginTimings: false },
      input: pages[mode] ?? "index.html", // see kit/main.ts
      output:
        mode === "worker"
          ? { format: "iife", entryFileNames: "sw.js", codeSplitting: false }
          : {
              // The first file names all others, and hashes do not compress: this saves 350 bytes.
              entryFileNames: "assets/[name]-[hash:7].js",
              chunkFileNames: "assets/[name]-[hash:7].js",
              assetFileNames: "assets/[name]-[hash:7][extname]",
              codeSplitting: {
                groups: [
                  { name: "core", test: /src\/App\.svelte$/, priority: 2 },
                  { name: "files", test: /src\/routes\/Files\.svelte$/, priority: 1 },
                  { name: "login", test: /src\/routes\/Login\.svelte$/, priority: 0 },
                  { name: "icons", test: /lucide:/, minShareCount: 2 },
                ],
              },
            },
    },
  },
  // For work on the UI: `npm run dev` serves the sources and forwards the API to a service at the
  // default address.
  server: { proxy: { "/api": "http://127.0.0.1:8080" } },
  test: {
    environment: "node",
    // see test/sources.contract.ts
    include: [mode === "contract" ? "test/**/*.contract.ts" : "test/**/*.test.ts"],
    testTimeout: 60_000,
  },
}));
