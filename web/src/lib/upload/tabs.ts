/**
 * Which tabs are alive, so that what one is uploading is not taken up by another. Each renews a lease in localStorage; one that is closed gives it
 * up, and that of one that was killed runs out. Background tabs get their timers once a minute only, hence the length.
 */
import { random } from "./item";

const prefix = "larder.tab.";
const lease = 150_000; // ms
const renewal = 20_000;

export class Tabs {
  readonly id = random();
  private timer: ReturnType<typeof setInterval> | undefined;

  /** Takes the lease. `freed` is called whenever another tab may have gone. */
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
      if (event.persisted) location.reload(); // meanwhile another tab may have taken over what is on this page
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
      // without storage nothing is kept that another tab could take
    }
  }

  /** Whether a tab holds its lease. */
  living = (tab: string): boolean => {
    try {
      return Number(localStorage.getItem(prefix + tab) ?? 0) > Date.now();
    } catch {
      return false;
    }
  };
}
