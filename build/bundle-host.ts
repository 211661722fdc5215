import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'rolldown';
import { BUILT_HOST, type BuiltHost, HOST_INPUTS } from '#host/built-host.ts';
import { builtinsPlugin, EXTERNAL } from './bundle-functions.ts';
import { lazyRoutesPlugin } from './lazy-routes.ts';
import { ROOT } from './root.ts';

/** Modules refer to files beside their sources, and to worker scripts: these are not bundled. */
const placesPlugin: Plugin = {
  name: 'places',
  transform: (code, id) =>
    id.startsWith(`${ROOT}/`) && code.includes('import.meta.')
      ? code
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
          .replaceAll('import.meta.filename', JSON.stringify(id))
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
      : null,
};

/** Packages with native parts, and those that few hosts load. */
const UNBUNDLED = [...EXTERNAL, 'dockerode', 'esbuild', 'playwright-core', '@lydell/node-pty'];

/** Two shared files: the code of every host, and the code of a host on one machine. */
const GROUPS = [
  { name: 'start', test: /\/host\/run\.ts$/, priority: 2 },
  {
    name: 'one-machine',
    test: /\/(?:host\/(?:platforms\/local-platform|open-broker)|adapters\/sql\/sqlite\/open-sqlite-records)\.ts$/,
    priority: 1,
  },
];

/**
 * Bundles the host for `npm start` (`builtHost`). Each build has its own folder. That of the build
 * before stays: a host that runs it may still load parts of it. Returns the folder of all builds.
 */
export async function bundleHost(folder = BUILT_HOST): Promise<string> {
  const aside = join(folder, `.${process.pid}`);
  const { output } = await build({
    cwd: ROOT,
    input: { run: join(ROOT, 'host/run.ts') },
    platform: 'node',
    external: UNBUNDLED,
    plugins: [lazyRoutesPlugin, builtinsPlugin, placesPlugin],
    logLevel: 'silent',
    output: {
      dir: aside,
      format: 'esm',
      entryFileNames: '[name].mjs',
      chunkFileNames: 'chunks/[name]-[hash].mjs',
      codeSplitting: { groups: GROUPS },
      comments: false,
      // Lines and names stay, for stack traces.
      minify: false,
    },
  });
  const inputs = output
    .flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
    .filter((id) => id.startsWith(`${ROOT}/`) && !id.includes('/node_modules/'))
    .map((id) => relative(ROOT, id));
  const hash = createHash('sha256');
  // Names of chunks contain their hashes.
  for (const { fileName } of output) hash.update(`${fileName}\n`);
  const name = hash.digest('hex').slice(0, 16);
  const list = join(folder, HOST_INPUTS);
  const before = await readFile(list, 'utf8').then(
    (text) => (JSON.parse(text) as BuiltHost).folder,
    () => name,
  );
  await rm(join(folder, name), { recursive: true, force: true });
  await rename(aside, join(folder, name));
  const built: BuiltHost = { folder: name, inputs: [...new Set(inputs), 'package-lock.json'] };
  await writeFile(`${list}.${process.pid}`, JSON.stringify(built));
  await rename(`${list}.${process.pid}`, list);
  for (const each of await readdir(folder)) {
    if (![name, before, HOST_INPUTS].includes(each)) await rm(join(folder, each), { recursive: true });
  }
  return folder;
}
