import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '..');

/** `npm run build` writes the bundled host there. */
export const BUILT_HOST = join(ROOT, 'dist/host');

/** The file that lists the bundle's sources. */
export const HOST_INPUTS = 'inputs.json';

/**
 * URL of the bundled host; undefined if it is not built, or one of its sources has changed since.
 */
export function builtHost(folder = BUILT_HOST): string | undefined {
  try {
    const list = join(folder, HOST_INPUTS);
    const builtAt = statSync(list).mtimeMs;
    const inputs = JSON.parse(readFileSync(list, 'utf8')) as readonly string[];
    const isStale = inputs.some((file) => statSync(join(ROOT, file)).mtimeMs > builtAt);
    return isStale ? undefined : pathToFileURL(join(folder, 'run.mjs')).href;
  } catch {
    // A source is gone, or nothing is built.
    return undefined;
  }
}
