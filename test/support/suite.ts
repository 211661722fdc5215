import { describe } from '@jest/globals';

/** What a suite needs from the machine: `undefined` when it is there, else one sentence with the remedy. */
export type Missing = string | undefined;

/** A suite that runs where the machine is ready for it, and otherwise counts as skipped and says why. */
export function suite(name: string, missing: Missing, body: () => void): void {
  if (missing === undefined) describe(name, body);
  else describe.skip(`${name} [skipped: ${missing}]`, body);
}
