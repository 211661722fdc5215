/**
 * `npm run build`: the console in dist/console; the guest in dist/guest; the functions as bundles,
 * with the console, in dist/functions or the folder that is given; and the client, in its own
 * folder.
 */
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { writeBuiltGuest } from '#adapters/guest/guest-bundle.ts';
import { buildConsole, isConsoleStale } from './build-console.ts';
import { bundleFunctions, MANIFEST } from './bundle-functions.ts';
import { ROOT } from './function-entries.ts';

/** Where the package of the client has its modules. */
const CLIENT_MODULES = join(ROOT, 'client/dist');

/**
 * Compiles the client to plain JavaScript and declarations, in that folder, which is emptied first:
 * a package that can be published as it stands.
 */
export async function buildClient(folder = CLIENT_MODULES): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await promisify(execFile)(process.execPath, [tsc, '--project', join(ROOT, 'client'), '--outDir', folder]);
}

const folder = resolve(process.argv[2] ?? join(ROOT, 'dist/functions'));
if (await isConsoleStale()) await buildConsole();
process.stdout.write('The console in dist/console.\n');
process.stdout.write(`The guest in ${relative('', await writeBuiltGuest())}.\n`);
const functions = await bundleFunctions(folder);
const kilobytes = (files: readonly string[]) =>
  Math.round(files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0) / 1_000);
for (const { id, files } of functions) {
  process.stdout.write(
    `${id.padEnd(22)} ${String(kilobytes(files)).padStart(6)} kB in ${files.length} files\n`,
  );
}
process.stdout.write(`${functions.length} functions in ${relative('', folder)}; ${MANIFEST} lists them.\n`);
await buildClient();
process.stdout.write(`The client in ${relative('', CLIENT_MODULES)}; npm publish ./client publishes it.\n`);
