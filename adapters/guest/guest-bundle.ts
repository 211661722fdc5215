import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';

const SOURCES = join(import.meta.dirname, '../../guest');

/** Made by `npm run build`, for installations without development packages. */
const BUILT = join(import.meta.dirname, '../../dist/guest');

/** Goes into the guest's folder as it is. */
const SCRIPT = 'sessions.bash';

/** File in the guest's folder → the module it is bundled from. */
const ENTRIES = { 'guest.js': 'main.ts', porthole: 'porthole.ts' } as const;

/**
 * The guest's sources: itself, the modules without I/O that it shares with the host, and packages.
 */
const INGREDIENTS = [
  'guest/**/*.{ts,bash}',
  'core/tar/*.ts',
  'proxy/**/*.ts',
  'adapters/guest/guest-bundle.ts',
  'dist/guest/*',
  'package-lock.json',
];

/** Changes with the guest's sources. Computed without bundling. */
export function guestDigest(): string {
  const root = join(SOURCES, '..');
  const hash = createHash('sha256').update(process.version);
  for (const file of globSync(INGREDIENTS, { cwd: root, exclude: ['guest/dist/**'] }).toSorted()) {
    hash.update(file).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * The guest's programs, each in one file, by their names in its folder.
 * @throws Error where they are not built and cannot be built
 */
export async function bundleGuest(): Promise<Record<string, string>> {
  const esbuild = await import('esbuild').catch(() => undefined);
  if (esbuild === undefined) return readBuilt();
  const files: Record<string, string> = {
    'package.json': '{"type":"module"}\n',
    [SCRIPT]: readFileSync(join(SOURCES, SCRIPT), 'utf8'),
  };
  for (const [name, entry] of Object.entries(ENTRIES)) {
    if (!existsSync(join(SOURCES, entry))) continue;
    const { outputFiles } = await esbuild.build({
      entryPoints: [join(SOURCES, entry)],
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      mainFields: ['module', 'main'],
      // Keeps names, for stack traces.
      minifySyntax: true,
      minifyWhitespace: true,
      ...(name === 'porthole' && { banner: { js: '#!/porthole/node' } }),
      plugins: [lazyBuiltins()],
      logLevel: 'error',
    });
    files[name] = outputFiles[0]?.text ?? '';
  }
  return files;
}

/**
 * `import … from 'node:http'` reads everything that the module exports, which loads a second HTTP
 * client and its WebSocket: 6 MiB of private memory. When loaded as an object, only the used
 * properties are read.
 */
function lazyBuiltins(): Plugin {
  const names = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]));
  return {
    name: 'lazy-builtins',
    setup(build) {
      build.onResolve({ filter: /^[a-z:_/]+$/ }, ({ path }) =>
        names.has(path) ? { path, namespace: 'builtin' } : undefined,
      );
      build.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
      }));
    },
  };
}

/**
 * Writes the bundles to the folder that `bundleGuest` reads without development packages. Returns
 * its path.
 */
export async function writeBuiltGuest(): Promise<string> {
  const files = await bundleGuest();
  mkdirSync(BUILT, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(BUILT, name), text);
  return BUILT;
}

function readBuilt(): Record<string, string> {
  const names = [...Object.keys(ENTRIES), SCRIPT, 'package.json'].filter((name) =>
    existsSync(join(BUILT, name)),
  );
  if (!names.includes('guest.js')) {
    throw new Error('the guest is not built: run npm ci with its development packages, or npm run build');
  }
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(BUILT, name), 'utf8')]));
}
