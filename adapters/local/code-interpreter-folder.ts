import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { guestCache } from '#adapters/guest/guest-runtime.ts';

/**
 * Where `npm run code:install` puts the code interpreter of sandboxes on this machine. Sandboxes
 * see the folder from their start, so it is made before there is anything in it.
 * @returns undefined where it cannot be made
 */
export function codeInterpreterFolder(env: NodeJS.ProcessEnv): string | undefined {
  const folder = join(dirname(guestCache(env)), 'code-interpreter');
  try {
    mkdirSync(folder, { recursive: true });
    return folder;
  } catch {
    return undefined;
  }
}
