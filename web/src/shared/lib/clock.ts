// The time as the master has it. A browser whose clock is wrong would otherwise show wrong ages, and ask for the wrong days.

/** Less than this is the way of the reply, and the master's Date in whole seconds. */
const SKEW_MIN_MS = 10_000;
let skew = 0;

/** Told of the Date of each reply. */
export function noteTime(date: string | null): void {
  const difference = Date.parse(date ?? "") - Date.now();
  if (Number.isFinite(difference)) skew = Math.abs(difference) < SKEW_MIN_MS ? 0 : difference;
}

export const now = (): number => Date.now() + skew;
