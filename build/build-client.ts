import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './function-entries.ts';

/** Where the package of the client has its modules. */
export const CLIENT_MODULES = join(ROOT, 'client/dist');

/**
 * Compiles the client to plain JavaScript and declarations, in that folder, which is emptied first:
 * a package that can be published as it stands.
 */
export async function buildClient(folder = CLIENT_MODULES): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '--project', join(ROOT, 'client'), '--outDir', folder]);
}
