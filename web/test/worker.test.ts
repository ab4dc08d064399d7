/** The requests that the service worker answers, and the answers that it caches. */
import { expect, test } from "vitest";
import { decide, isAsset, isShell, type Decision } from "../src/worker/decide";

const site = "https://larder.test";

// The address, the method, whether the browser opens it as a page, and the decision.
const requests: [string, string, boolean, Decision][] = [
  ["/app/", "GET", true, "page"],
  ["/app/files/home/lin/a%20b?view=1", "GET", true, "page"],
  ["/app/login?next=%2Fapp%2Ffiles", "GET", true, "page"],
  ["/app/share-target?delivery=1", "GET", true, "page"],
  ["/app/files/api/x", "GET", true, "page"],
  ["/app/assets/core-1a2b.js", "GET", false, "asset"],
  ["/app/assets/core-1a2b.js", "GET", true, "asset"],
  ["/app/share-target", "POST", true, "files"],

  // requests of scripts and pictures below /app/
  ["/app/files/home", "GET", false, "none"],
  ["/app/sw.js", "GET", false, "none"],
  ["/app/sw.js", "GET", true, "none"],
  ["/app/manifest.webmanifest", "GET", false, "none"],
  ["/app/manifest.webmanifest", "GET", true, "none"],
  // an address with a query could be cached any number of times
  ["/app/assets/core-1a2b.js?1", "GET", false, "none"],
  // the interface
  ["/api/files?path=%2F", "GET", false, "none"],
  ["/api/gateway/download/token", "GET", true, "none"],
  ["/api/auth/login", "POST", false, "none"],
  ["/api/app/assets/x.js", "GET", false, "none"],
  // stored files, shares, and pages of the server
  ["/home/lin/a.png", "GET", false, "none"],
  ["/home/app/assets/a.js", "GET", false, "none"],
  ["/public/trip/", "GET", true, "none"],
  ["/share/1a2b", "GET", true, "none"],
  ["/", "GET", true, "none"],
  ["/app", "GET", true, "none"],
  ["/application/", "GET", true, "none"],
  ["/webdav/app/", "GET", true, "none"],
  // other methods
  ["/app/files", "POST", true, "none"],
  ["/app/share-target", "POST", false, "none"],
  ["/app/share-target/", "POST", true, "none"],
  ["/app/share-target?x", "POST", true, "files"],
  ["/app/share-target", "PUT", true, "none"],
  ["/app/assets/core-1a2b.js", "HEAD", false, "none"],
  // other sites
  ["https://other.test/app/", "GET", true, "none"],
  ["https://larder.test:8443/app/assets/core-1a2b.js", "GET", false, "none"],
  ["http://larder.test/app/share-target", "POST", true, "none"],
];

test.each(requests)("%s %s, as a page: %s, is answered: %s", (url, method, navigates, decision) => {
  expect(decide({ method, navigates, url: new URL(url, site).href }, site)).toBe(decision);
});

const answer = (status: number, headers: Record<string, string>, redirected = false) => ({
  status,
  redirected,
  headers: new Headers(headers),
});

test("an asset is kept if the service marks it as unchangeable", () => {
  const cache = "public, max-age=31536000, immutable";
  expect(isAsset(answer(200, { "Cache-Control": cache, "Content-Type": "text/javascript" }))).toBe(true);
  expect(isAsset(answer(200, { "Cache-Control": "no-cache", "Content-Type": "text/javascript" }))).toBe(false);
  expect(isAsset(answer(200, { "Content-Type": "text/javascript" }))).toBe(false);
  expect(isAsset(answer(404, { "Cache-Control": cache, "Content-Type": "text/javascript" }))).toBe(false);
  expect(isAsset(answer(206, { "Cache-Control": cache, "Content-Type": "text/javascript" }))).toBe(false);
  expect(isAsset(answer(200, { "Cache-Control": cache, "Content-Type": "text/html; charset=utf-8" }))).toBe(false);
  expect(isAsset(answer(200, { "Cache-Control": cache, "Content-Type": "text/javascript" }, true))).toBe(false);
});

test("a page is kept if it is that of the build, and no page of a failure, of another build or of a proxy", () => {
  const entry = "/app/assets/index-1a2b.js";
  const html = { "Content-Type": "text/html; charset=utf-8" };
  const page = `<script type="module" src="${entry}"></script>`;
  expect(isShell(answer(200, html), page, entry)).toBe(true);
  expect(isShell(answer(404, html), page, entry)).toBe(false);
  expect(isShell(answer(403, html), page, entry)).toBe(false);
  expect(isShell(answer(0, html), page, entry)).toBe(false);
  expect(isShell(answer(200, html, true), page, entry)).toBe(false);
  expect(isShell(answer(200, { "Content-Type": "text/javascript" }), page, entry)).toBe(false);
  expect(isShell(answer(200, html), `<script type="module" src="/app/assets/index-3c4d.js"></script>`, entry)).toBe(
    false,
  );
  expect(isShell(answer(200, html), "<h1>Sign in to the Wi-Fi</h1>", entry)).toBe(false);
});
