/** What the page reaches of the interface, and what it says of its messages. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { modulesFrom } from "./modules";

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((name) => /\.(svelte|ts|js)$/.test(name) && !name.startsWith("messages") && !name.endsWith("schema.d.ts"))
  .map((name) => readFileSync(`src/${name}`, "utf8"))
  .join("\n");

/** The modules that a page may load: all that imports lead to. */
const loaded = modulesFrom(["src/main.ts", "src/share.ts", "src/boot.js"], { lazy: true });
const page = [...loaded.values()].join("\n");

/** For other clients alone, or done by the page in another way. */
const elsewhere = [
  "GET /api/openapi.json",
  "GET /api/public/health",
  "GET /api/public/oembed", // programs that show addresses with a preview
  "GET /api/public/health/ready", // the page asks for what it needs until it comes
  "POST /api/compat/upload", // image clients
  "POST /api/upload/upload",
  "GET /api/admin/stats", // the dashboard has these figures too
  "GET /api/auth/me", // `GET /api/users/me/settings` has it too, and does not count as a sign-in
  "GET /api/auth/verify", // a page of the server, to which a mail leads
  "GET /api/auth/verify-email",
  "GET /api/files/{id}/copy-links", // asked for many at once, as these are
  "POST /api/files/{id}/link",
  "POST /api/files/{id}/move",
  "DELETE /api/files/{id}",
  "GET /api/files/jobs",
  "GET /api/files/upload-sessions", // the browser knows its own
  "GET /api/gateway/download/{token}", // addresses that answers name
  "GET /api/public/avatars/{id}",
  "GET /api/i/{link}",
  "GET /api/i/{link}/thumbnail",
];

interface Interface {
  paths: Record<string, Record<string, unknown>>;
}
const { paths } = JSON.parse(readFileSync("openapi.json", "utf8")) as Interface;
const endpoints = Object.entries(paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => ({ path, method: method.toUpperCase() })),
);

const escape = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");

/**
 * Whether the page calls an endpoint: by the client, or by its address where it is the only one
 * there.
 */
function called({ path, method }: { path: string; method: string }): boolean {
  const quoted = escape(path);
  if (new RegExp(`client\\.${method}\\(\\s*"${quoted}"`).test(page)) return true;
  if (Object.keys(paths[path]!).length > 1) return false;
  const address = path.split(/\{\w+\}/).map((part) => escape(part));
  return new RegExp(`["\`]${address.join("\\$\\{[^}]+\\}")}["\`?]`).test(page);
}

test("each endpoint is called by the page, or is known not to be", () => {
  const names = endpoints.filter((one) => !called(one)).map(({ path, method }) => `${method} ${path}`);
  expect(names.sort()).toEqual([...elsewhere].sort());
});

/** The paths of all messages below a value: `files.tiles.s`. */
function leaves(value: unknown, path: string): string[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([key, below]) => leaves(below, path === "" ? key : `${path}.${key}`));
}

test("no message is unused", async () => {
  const areas = readdirSync("src/messages/zh-CN").filter((name) => /^(?!index).*\.ts$/.test(name));
  const chinese = Object.assign(
    {},
    await import("../src/messages/zh-CN/admin"),
    ...(await Promise.all(areas.map((name) => import(`../src/messages/zh-CN/${name.replace(/\.ts$/, "")}.ts`)))),
  ) as object;
  const used = [...sources.matchAll(/\bt((?:\s*\??\.\w+)+)/g)].map(([, path]) =>
    path!.replaceAll(/[\s?]/g, "").slice(1),
  );
  const uses = (path: string) =>
    used.some((use) => use === path || use.startsWith(`${path}.`) || path.startsWith(`${use}.`));
  expect(leaves(chinese, "").filter((path) => !uses(path))).toEqual([]);
});
