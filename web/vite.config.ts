import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** The server writes the nonce of each answer in the place of this. */
const nonce = "LARDER-NONCE";

/**
 * Puts src/boot.js into the page itself: it runs before the first paint and costs no request. It is told which files more a screen or a language
 * consists of, beside those that the page names.
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
          "zh-CN": filesOf("/messages/zh-CN/index.ts"),
          "en-US": filesOf("/messages/en-US/index.ts"),
        };
        const script = readFileSync("src/boot.js", "utf8").trim().replace("{} /* files */", JSON.stringify(more));
        return html.replace("<!-- boot -->", () => `<script nonce="${nonce}">\n${script}\n</script>`);
      },
    },
  };
}

/** Makes `import shape from "lucide:folder"` the drawing of that icon: what is inside its svg element. */
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

/** Writes compressed copies beside the files that get smaller by it, for the server to send as they are. */
function compressed(): Plugin {
  return {
    name: "compressed",
    apply: "build",
    writeBundle({ dir }) {
      const assets = join(dir!, "assets");
      for (const name of readdirSync(assets)) {
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

export default defineConfig({
  plugins: [icons(), svelte(), boot(), compressed()],
  base: "/app/",
  html: { cspNonce: nonce },
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // the policy of the page has styles and scripts from files alone
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
    // Few files, since each request costs a phone more than the bytes do: one for what stands around every screen, one for the screen of files,
    // where most people are. What only panels need is fetched when they open.
    rolldownOptions: {
      checks: { pluginTimings: false },
      output: {
        codeSplitting: {
          groups: [
            { name: "core", test: /src\/App\.svelte$/, priority: 2 },
            { name: "files", test: /src\/routes\/Files\.svelte$/, priority: 1 },
            { name: "icons", test: /lucide:/, minShareCount: 2 },
          ],
        },
      },
    },
  },
  // For work on the UI: `npm run dev` shows the sources, beside a service at the usual address.
  server: { proxy: { "/api": "http://127.0.0.1:8080" } },
  test: { environment: "node", include: ["test/**/*.test.ts"], testTimeout: 60_000 },
});
