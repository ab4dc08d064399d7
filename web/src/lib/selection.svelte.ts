/** The selection in a listing, by index, and the active entry. */
import { add, count, has, remove, type Ranges } from "./ranges";

export class Selection {
  chosen = $state.raw<Ranges>([]);
  /** The entry that keys act on. */
  active = $state(0);
  /** The start of a range that Shift extends, and the selection outside of the range. */
  #anchor = 0;
  #kept: Ranges = [];

  readonly count = $derived(count(this.chosen));

  has(index: number): boolean {
    return has(this.chosen, index);
  }

  /** Selects one entry and nothing else. */
  only(index: number): void {
    this.chosen = [[index, index + 1]];
    this.#stand(index);
  }

  toggle(index: number): void {
    this.chosen = this.has(index) ? remove(this.chosen, index, index + 1) : add(this.chosen, index, index + 1);
    this.#stand(index);
  }

  /**
   * Selects the range from its start to an entry; the selection outside of the range stays if
   * `keep`.
   */
  extend(index: number, keep = false): void {
    const kept = keep ? this.#kept : [];
    this.chosen = add(kept, Math.min(this.#anchor, index), Math.max(this.#anchor, index) + 1);
    this.active = index;
  }

  /** Makes an entry active without selecting it. */
  moveTo(index: number): void {
    this.active = index;
  }

  all(total: number): void {
    this.chosen = total > 0 ? [[0, total]] : [];
  }

  none(): void {
    this.chosen = [];
    this.#stand(this.active);
  }

  /** Replaces the selection. */
  set(chosen: Ranges, active = this.active): void {
    this.chosen = chosen;
    this.#stand(active);
  }

  #stand(index: number): void {
    this.active = index;
    this.#anchor = index;
    this.#kept = this.chosen;
  }
}
