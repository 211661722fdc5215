import { z } from 'zod';
import { PortholeError } from '#core/errors.ts';
import { SandboxPath } from './sandbox-path.ts';

export const FilePath = SandboxPath.extend({
  path: z
    .string()
    .describe(
      'Absolute path without its leading slash, each segment percent-encoded, e.g. `workspace/a.txt`',
    ),
});

/**
 * The absolute path that the URL's tail names. It arrives still encoded, is decoded once and in full, and only then judged.
 * @throws PortholeError `invalid_request`
 */
export function absolutePath(encoded: string): string {
  if (encoded === '') throw new PortholeError('invalid_request', 'file path must not be empty');
  try {
    return `/${decodeURIComponent(encoded)}`;
  } catch {
    throw new PortholeError(
      'invalid_request',
      `file path is not valid percent-encoded UTF-8: ${JSON.stringify(encoded.slice(0, 100))}`,
    );
  }
}
