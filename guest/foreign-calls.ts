/** Functions of the C library that Node does not offer. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

export interface Library {
  func(name: string, result: string, parameters: string[]): (...values: unknown[]) => number;
}

/**
 * @param addon file of the foreign function interface; by default the guest's own
 * @throws Error if it is missing, as where the guest runs from its sources
 */
export function loadLibrary(addon = join(import.meta.dirname, 'calls.node')): Library {
  const calls = createRequire(import.meta.url)(addon) as { load(library: null): Library };
  return calls.load(null);
}
