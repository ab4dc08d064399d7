/** The code that was mailed to a new address. It stays while the user visits other screens. */

/** Wrong codes after which the server refuses the code. */
export const mostTries = 5;

class Mailed {
  /** The address, "" when no code was mailed. */
  to = $state("");
  /** The end of the code, ms since the epoch. */
  until = $state(0);
  /** Wrong tries of this code. */
  wrong = $state(0);

  begin(to: string, until: number): void {
    this.to = to;
    this.until = until;
    this.wrong = 0;
  }
}

export const mailed = new Mailed();
