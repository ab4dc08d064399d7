/** The time until a session ends. */

const warned = 5 * 60; // seconds before the end

export interface Remaining {
  over: boolean;
  /** The last five minutes. */
  soon: boolean;
  hours: number;
  /** Whole minutes beside the hours, rounded up. */
  minutes: number;
  /** Minutes and seconds: "4:05". */
  clock: string;
}

export function remaining(ms: number): Remaining {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const minutes = Math.ceil(seconds / 60);
  return {
    over: seconds === 0,
    soon: seconds <= warned,
    hours: Math.floor(minutes / 60),
    minutes: minutes % 60,
    clock: `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`,
  };
}
