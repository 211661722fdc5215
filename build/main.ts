/**
 * `npm run build`: the console in dist/console; the functions as bundles, with the console, in
 * dist/functions; the host that `npm start` runs in dist/host; the guest in dist/guest; and the
 * packages, each in its own `dist`. With a folder only the functions, there, and the console.
 */
import { join, relative, resolve } from 'node:path';
import { writeBuiltGuest } from '#adapters/guest/guest-bundle.ts';
import { buildPackage, PACKAGES } from './build-packages.ts';
import { updateConsole } from './build-console.ts';
import { bundleHost } from './bundle-host.ts';
import { bundleFunctions } from './bundle-functions.ts';
import { ROOT } from './root.ts';

const [given] = process.argv.slice(2);
const folder = resolve(given ?? join(ROOT, 'dist/functions'));
await updateConsole();
process.stdout.write('The console in dist/console.\n');
if (given === undefined) {
  process.stdout.write(`The host in ${relative('', await bundleHost())}.\n`);
  process.stdout.write(`The guest in ${relative('', await writeBuiltGuest())}.\n`);
}
await bundleFunctions(folder);
process.stdout.write(`The functions in ${relative('', folder)}.\n`);
for (const name of given === undefined ? PACKAGES : []) {
  await buildPackage(name);
  process.stdout.write(`The package ${name} in ${relative('', join(ROOT, name, 'dist'))}.\n`);
}
