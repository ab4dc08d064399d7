// Runs before the first paint: applies the last look, and starts the requests that every screen
// needs.
(() => {
  const root = document.documentElement;
  let look = {};
  try {
    look = JSON.parse(localStorage.getItem("larder.look") ?? "{}");
  } catch {
    // without storage, or with invalid content, the default look applies
  }
  const dark = look.theme === "dark" || (look.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "dark" : "light";
  root.dataset.blur = look.blur === false ? "off" : "on";
  for (const [name, value] of Object.entries(look.accent?.[root.dataset.theme] ?? {}))
    root.style.setProperty(name, value);
  root.lang = look.locale ?? (navigator.language.startsWith("zh") ? "zh-CN" : "en-US");
  const ask = (address, account) => {
    const answer = fetch(address, {
      headers: { Accept: "application/json", ...(account && { "X-Larder-Account": account }) },
    });
    answer.catch(() => undefined); // the code that uses the response handles the error
    window.larderBoot[address] = answer;
    return answer;
  };
  window.larderBoot = {};
  const [, app, screen, ...below] = location.pathname.split("/");
  ask("/api/public/settings");
  // The only request of the share, because it counts a view. The page needs no account.
  if (app === "share") {
    if (!root.dataset.failure) ask(`/api/shares/${screen}`);
  } else ask("/api/users/me/settings");

  const files = {}; /* files */
  const parts = { app: [root.lang, screen], share: [root.lang, "share", `share ${root.lang}`] }[app] ?? [root.lang];
  for (const file of parts.flatMap((part) => files[part] ?? [])) {
    const link = document.createElement("link");
    const style = file.endsWith(".css");
    link.rel = style ? "preload" : "modulepreload";
    link.as = style ? "style" : "script";
    link.crossOrigin = "";
    link.href = file;
    link.nonce = document.currentScript.nonce;
    document.head.append(link);
  }

  if (app !== "app" || screen !== "files" || location.search) return;
  // Requests the first pages of the folder with the same addresses as lib/listing.svelte.ts.
  const listings = (account) => {
    const path = `/${below.filter(Boolean).map(decodeURIComponent).join("/")}`;
    const { usual, folders } = JSON.parse(localStorage.getItem("larder.views") ?? "{}");
    const view = folders?.find(([one]) => one === path)?.[1] ?? usual;
    const order = view?.sort ? `&sort=${view.sort}&order=${view.order}` : "";
    for (const type of ["folder", "file"])
      ask(`/api/files?path=${encodeURIComponent(path)}&page=1&limit=200&type=${type}${order}`, account);
  };
  // after an error, the screen sends the requests itself
  window.larderBoot["/api/users/me/settings"]
    .then(async (answer) => answer.ok && listings((await answer.clone().json()).data.profile.id))
    .catch(() => undefined);
})();
