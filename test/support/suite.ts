import { describe } from '@jest/globals';

/**
 * What a suite needs from the machine: `undefined` when it is there, else one sentence with the
 * remedy.
 */
export type Missing = string | undefined;

/**
 * How often a test that plays with chance repeats: one of `share` of `all`, and `least` at least,
 * so that a run of all tests stays short. Each run chooses other cases.
 * `PORTHOLE_TEST_REPETITIONS=all` asks for all of them.
 */
export function repetitions(all: number, least = 1, share = 5): number {
  return process.env['PORTHOLE_TEST_REPETITIONS'] === 'all' ? all : Math.max(least, Math.ceil(all / share));
}

/**
 * A suite that runs where the machine is ready for it, and otherwise counts as skipped and says
 * why.
 */
export function suite(name: string, missing: Missing, body: () => void): void {
  if (missing === undefined) describe(name, body);
  else describe.skip(`${name} [skipped: ${missing}]`, body);
}
