/**
 * Leases of tabs, so that no tab resumes the uploads of another open tab. Each tab renews a lease
 * in localStorage. A closed tab removes its lease; that of a killed tab expires. Timers of
 * background tabs run only once a minute, so the lease is long.
 */
import { random } from "./random";

const prefix = "larder.tab.";
const lease = 150_000; // ms
const renewal = 20_000;

export class Tabs {
  readonly id = random();
  private timer: ReturnType<typeof setInterval> | undefined;

  /** Takes the lease. Calls `freed` when another tab may have closed. */
  enter(freed: () => void): void {
    if (this.timer) return;
    this.renew();
    this.timer = setInterval(() => {
      this.renew();
      freed();
    }, renewal);
    window.addEventListener("storage", (event) => {
      if (event.key?.startsWith(prefix) && event.newValue === null) freed();
    });
    window.addEventListener("pagehide", () => this.leave());
    window.addEventListener("pageshow", (event) => {
      // another tab may have claimed this page's items in the meantime
      if (event.persisted) location.reload();
    });
  }

  private leave(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    localStorage.removeItem(prefix + this.id);
  }

  private renew(): void {
    try {
      localStorage.setItem(prefix + this.id, String(Date.now() + lease));
    } catch {
      // without storage there are no items that another tab could claim
    }
  }

  /** Reports whether a tab holds a lease. */
  isAlive = (tab: string): boolean => {
    try {
      return Number(localStorage.getItem(prefix + tab) ?? 0) > Date.now();
    } catch {
      return false;
    }
  };
}
