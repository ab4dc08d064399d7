/** The offer of the browser to install the app. */

/** The event by which Chromium says that the app can be installed. */
interface InstallEvent extends Event {
  prompt(): Promise<unknown>;
}

class Install {
  /** Undefined where the app cannot be installed, or is installed already. */
  offer = $state.raw<InstallEvent>();

  /** Listens to the browser, which may make its offer at any time. Call it once. */
  start(): void {
    window.addEventListener("beforeinstallprompt", (event) => (this.offer = event as InstallEvent));
    window.addEventListener("appinstalled", () => (this.offer = undefined));
  }

  /** Lets the browser ask the user. An offer can be used once. */
  ask = (): void => {
    this.offer?.prompt().catch(() => undefined);
    this.offer = undefined;
  };
}

export const install = new Install();
