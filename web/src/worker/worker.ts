/**
 * The service worker: it keeps the page and its assets for times without a connection, and receives
 * files of other apps (docs/adr/0024-service-worker.md). It is built as /app/sw.js.
 */
import { keepReceived } from "../lib/received";
import { decide, isAsset, isShell } from "./decide";

/** The constants of build/install.ts. */
declare const BUILD: { id: string; entry: string; files: readonly string[] };
const { id, entry, files } = BUILD;

// TypeScript has the types of workers only in place of those of pages.
interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface FetchEvent extends WorkerEvent {
  readonly request: Request;
  readonly preloadResponse?: Promise<Response | undefined>;
  respondWith(answer: Promise<Response>): void;
}
interface WorkerScope extends EventTarget {
  readonly clients: { claim(): Promise<void> };
  readonly registration: ServiceWorkerRegistration;
  skipWaiting(): Promise<void>;
}
const worker = self as unknown as WorkerScope;

const prefix = "larder-ui-";
const cacheName = prefix + id;
/** The address under which the page is kept; the page is the same at all its addresses. */
const shell = "/app/";

/** Keeps an answer if it is the page of this build. Resolves to whether it is. */
async function keepShell(answer: Response): Promise<boolean> {
  if (!isShell(answer, await answer.clone().text(), entry)) return false;
  // The policy in the header and the scripts in the page have the same nonce, so both are kept.
  await (await caches.open(cacheName)).put(shell, answer);
  return true;
}

/** Fetches the page and the files of its first screen. Rejects unless they are of this build. */
async function install(): Promise<void> {
  const cache = await caches.open(cacheName);
  const asset = async (path: string) => {
    if (await cache.match(path, { ignoreVary: true })) return;
    const answer = await fetch(path);
    if (!isAsset(answer)) throw new Error(`${path} is not of this build`);
    await cache.put(path, answer);
  };
  await Promise.all(files.map(asset));
  if (!(await keepShell(await fetch(shell, { cache: "no-store" })))) throw new Error("the page is of another build");
  // Pages are loaded from the network, and the names of assets change with their content: nothing
  // depends on the worker that a page began with.
  await worker.skipWaiting();
}

/** Takes over from the worker of another build, and removes what that one has kept. */
async function activate(): Promise<void> {
  const others = (await caches.keys()).filter((name) => name.startsWith(prefix) && name !== cacheName);
  await Promise.all(others.map((name) => caches.delete(name)));
  await worker.registration.navigationPreload?.enable();
  await worker.clients.claim();
}

/** The page from the network; the kept one if the network fails. */
async function page(event: FetchEvent): Promise<Response> {
  let answer: Response;
  try {
    answer = (await event.preloadResponse) ?? (await fetch(event.request));
  } catch (cause) {
    const kept = await caches.match(shell, { cacheName, ignoreVary: true });
    if (kept) return kept;
    throw cause;
  }
  // Without this, the kept policy would not know the stores that the page may reach by now.
  event.waitUntil(keepShell(answer.clone()).catch(() => undefined));
  return answer;
}

/** An asset from the cache, and otherwise from the network. */
async function asset(event: FetchEvent): Promise<Response> {
  const { pathname } = new URL(event.request.url);
  // where the cache cannot be read, the asset comes from the network
  const kept = await caches.match(pathname, { cacheName, ignoreVary: true }).catch(() => undefined);
  if (kept) return kept;
  const answer = await fetch(event.request);
  if (isAsset(answer)) {
    const copy = answer.clone();
    // the disk may be full: then the asset comes from the network the next time as well
    event.waitUntil(
      caches
        .open(cacheName)
        .then((cache) => cache.put(pathname, copy))
        .catch(() => undefined),
    );
  }
  return answer;
}

/** Keeps the files of a form for the page that asks for their folder, and leads to that page. */
async function receive(request: Request): Promise<Response> {
  let query: string;
  try {
    const form = await request.formData();
    query = await keepReceived(form.getAll("files").filter((one): one is File => one instanceof File));
  } catch {
    query = "problem=storage"; // the disk is full, or the form did not arrive completely
  }
  return Response.redirect(`/app/share-target?${query}`, 303);
}

const on = <E extends WorkerEvent>(name: string, listener: (event: E) => void) =>
  worker.addEventListener(name, listener as unknown as EventListener);

on("install", (event) => event.waitUntil(install()));
on("activate", (event) => event.waitUntil(activate()));
on<FetchEvent>("fetch", (event) => {
  const { request } = event;
  const { method, mode, url } = request;
  const decision = decide({ method, navigates: mode === "navigate", url }, location.origin);
  if (decision === "page") event.respondWith(page(event));
  else if (decision === "asset") event.respondWith(asset(event));
  else if (decision === "files") event.respondWith(receive(request));
});
