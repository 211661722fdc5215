import { z } from 'zod';
import type { FileChange } from '#core/checkpoints/manifest.ts';

const MAX_CHANGES = 10_000;

/** Files that differ. */
export const changesFields = {
  total: z.number().int().describe('How many files differ'),
  changes: z
    .array(
      z.object({
        path: z.string().describe('Relative to /workspace'),
        change: z.enum(['added', 'changed', 'removed']),
        before: z.number().int().nullable().describe('Bytes; null: it did not exist'),
        after: z.number().int().nullable(),
      }),
    )
    .describe(`The first ${MAX_CHANGES}, without folders`),
};

export function toChangesDto(changes: readonly FileChange[]) {
  const shown = changes.slice(0, MAX_CHANGES).map(({ path, ...change }) => ({ path: utf8(path), ...change }));
  return { total: changes.length, changes: shown };
}

/** Paths are bytes as Latin-1; invalid UTF-8 becomes U+FFFD. */
const utf8 = (path: string): string => Buffer.from(path, 'latin1').toString('utf8');
