import { describe } from '@jest/globals';

/**
 * A missing requirement of a suite: `undefined` if the machine meets it, else one sentence with the
 * remedy.
 */
export type Missing = string | undefined;

/**
 * Repetitions of a randomized test: one of `share` of `all`, at least `least`, to keep a full run
 * short. Each run chooses other cases. `PORTHOLE_TEST_REPETITIONS` is `all`, or a number.
 */
export function repetitions(all: number, least = 1, share = 5): number {
  const wanted = process.env['PORTHOLE_TEST_REPETITIONS'];
  if (wanted === undefined) return Math.max(least, Math.ceil(all / share));
  return wanted === 'all' ? all : Number(wanted);
}

/**
 * A suite that runs if the machine meets its requirements, and is otherwise skipped with the
 * reason.
 */
export function suite(name: string, missing: Missing, body: () => void): void {
  if (missing === undefined) describe(name, body);
  else describe.skip(`${name} [skipped: ${missing}]`, body);
}
