/** The state of a form that asks a visitor for a password. Create it with a component. */
import { Failure } from "./api";
import { Countdown } from "./countdown.svelte";
import { explain } from "./entry";
import { t } from "./i18n.svelte";

export class PasswordQuestion {
  password = $state("");
  busy = $state(false);
  /** The first of two passwords was correct. */
  halfway = $state(false);
  private problem = $state("");
  private readonly pause = new Countdown();

  /** The reason why the password was refused, "" for none. */
  get refusal(): string {
    return this.pause.seconds > 0 ? t.login.wait(this.pause.seconds) : this.problem;
  }

  /** Whether the form accepts an attempt now. */
  get ready(): boolean {
    return !this.busy && this.pause.seconds === 0;
  }

  /** Makes an attempt. Resolves to whether the password opened everything. */
  async submit(request: (password: string) => Promise<unknown>): Promise<boolean> {
    if (!this.ready) return false;
    this.problem = this.password === "" ? t.login.missing : "";
    if (this.problem) return false;
    this.busy = true;
    try {
      await request(this.password);
      return true;
    } catch (cause) {
      this.explain(cause);
      return false;
    } finally {
      this.busy = false;
    }
  }

  private explain(cause: unknown): void {
    if (this.pause.start(cause)) return;
    if (cause instanceof Failure && cause.code === "PASSWORD_REQUIRED" && !this.halfway) {
      this.halfway = true;
      this.password = "";
    } else {
      this.problem = explain(cause, { PASSWORD_REQUIRED: t.login.anotherPassword });
    }
  }
}
