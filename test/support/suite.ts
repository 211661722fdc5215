import { describe } from '@jest/globals';

/**
 * A missing requirement of a suite: `undefined` if the machine meets it, else one sentence with the
 * remedy.
 */
export type Missing = string | undefined;

/**
 * Repetitions of a randomized test: one of `share` of `all`, at least `least`, to keep a full run
 * short. Each run chooses other cases. `PORTHOLE_TEST_REPETITIONS=all` runs all of them.
 */
export function repetitions(all: number, least = 1, share = 5): number {
  return process.env['PORTHOLE_TEST_REPETITIONS'] === 'all' ? all : Math.max(least, Math.ceil(all / share));
}

/**
 * A suite that runs if the machine meets its requirements, and is otherwise skipped with the
 * reason.
 */
export function suite(name: string, missing: Missing, body: () => void): void {
  if (missing === undefined) describe(name, body);
  else describe.skip(`${name} [skipped: ${missing}]`, body);
}
