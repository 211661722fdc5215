import { constants } from 'node:os';
import type { ExecExit } from '#core/ports/sandbox-provider.ts';

/** Some have two names; the first is the one everybody uses. */
const SIGNALS = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
);

/**
 * An exit from a code as shells and container runtimes tell it: above 128 stands for the signal that ended the command. A command that exits with such a code of
 * its own accord cannot be told from one that was ended.
 */
export function exitOf(code: number): ExecExit {
  const signal = code > 128 ? SIGNALS.get(code - 128) : undefined;
  return signal === undefined ? { code } : { signal };
}
