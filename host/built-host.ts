import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '..');

/** `npm run build` writes the bundled host there. */
export const BUILT_HOST = join(ROOT, 'dist/host');

/** The file that names the current build, and lists its sources. */
export const HOST_INPUTS = 'inputs.json';

/** Content of `HOST_INPUTS`. */
export interface BuiltHost {
  /** Folder of the build, beside the file. */
  readonly folder: string;
  readonly inputs: readonly string[];
}

/**
 * URL of the bundled host; undefined if it is not built, or one of its sources has changed since.
 */
export function builtHost(folder = BUILT_HOST): string | undefined {
  try {
    const list = join(folder, HOST_INPUTS);
    const builtAt = statSync(list).mtimeMs;
    const { folder: name, inputs } = JSON.parse(readFileSync(list, 'utf8')) as BuiltHost;
    const isStale = inputs.some((file) => statSync(join(ROOT, file)).mtimeMs > builtAt);
    return isStale ? undefined : pathToFileURL(join(folder, name, 'run.mjs')).href;
  } catch {
    // A source is gone, or nothing is built.
    return undefined;
  }
}
