/** How long to wait before the next attempt: doubling, bounded, with chance in it so that agents do not march in step. */

/** One second at first, half a minute at most, give or take a quarter. `chance` is a random number from 0 to 1. */
export function pauseMs(attempt: number, chance: number, firstMs = 1_000, longestMs = 30_000): number {
  const doubled = Math.min(longestMs, firstMs * 2 ** Math.min(attempt, 30));
  return doubled * (0.75 + 0.5 * chance);
}

/** How long the hub asks to wait, from its sentence (`…; retry in 3 s`); none where it does not say. */
export function askedPauseMs(sentence: string): number | undefined {
  const seconds = /(?:retry|try again) in (\d+) s/.exec(sentence)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

/** At least as long as the hub asks, and not all at once. */
export function spreadMs(askedMs: number, chance: number): number {
  return askedMs * (1 + 0.25 * chance);
}

/** Refusals that changed nothing and may pass. */
export function isTemporary(code: string): boolean {
  return code === 'RATE_LIMITED' || code === 'INTERNAL_ERROR';
}
