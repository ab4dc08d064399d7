/**
 * Tells the other tabs of this browser which account is signed in. All tabs share one session
 * cookie, so a sign-in in one of them changes the account of all.
 */
const name = "larder.account";

let opened: BroadcastChannel | undefined;

/** The channel between the tabs, undefined where the browser has none. */
function channel(): BroadcastChannel | undefined {
  if (typeof BroadcastChannel !== "undefined") opened ??= new BroadcastChannel(name);
  return opened;
}

/** Tells the other tabs the id of the account that is signed in, "" after a sign-out. */
export function announce(account: string): void {
  const tabs = channel();
  if (tabs) return tabs.postMessage(account);
  try {
    localStorage.setItem(name, JSON.stringify([account, Date.now()])); // the time makes each value a new one
  } catch {
    // without storage, the other tabs find out at their next request
  }
}

/** Calls `heard` for each announcement of another tab. */
export function onAnnouncement(heard: (account: string) => void): void {
  const tabs = channel();
  if (tabs) tabs.addEventListener("message", ({ data }) => heard(String(data)));
  else
    window.addEventListener("storage", ({ key, newValue }) => {
      if (key === name && newValue) heard(String((JSON.parse(newValue) as unknown[])[0]));
    });
}
