import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, relative } from 'node:path';
import type { Plugin } from 'esbuild';

const SOURCES = join(import.meta.dirname, '../../guest');

const ROOT = join(SOURCES, '..');

/**
 * Made by `npm run build`, for installations without a bundler. Others use it until one of its
 * sources changes: a start does not bundle.
 */
const BUILT = join(ROOT, 'dist/guest');

/** The file in it that lists its sources. */
const INPUTS = 'inputs.json';

const SCRIPT = 'sessions.bash';

/** File in the guest's folder → the module it is bundled from. */
const ENTRIES = { 'guest.js': 'main.ts', porthole: 'porthole.ts' } as const;

const PROGRAMS = [...Object.keys(ENTRIES), SCRIPT, 'package.json'];

/**
 * The guest's sources: itself, the modules that it shares with the host, and packages.
 */
const INGREDIENTS = [
  'guest/**/*.{ts,bash}',
  'base/**/*.ts',
  'protocol/guest/*.ts',
  'proxy/**/*.ts',
  'adapters/guest/guest-bundle.ts',
  'dist/guest/*',
  'package-lock.json',
];

/** Changes with the guest's sources. Computed without bundling. */
export function guestDigest(): string {
  const hash = createHash('sha256').update(process.version);
  const ingredients = isBuilt()
    ? PROGRAMS.map((name) => `dist/guest/${name}`)
    : globSync(INGREDIENTS, { cwd: ROOT, exclude: ['guest/dist/**'] }).toSorted();
  for (const file of ingredients) {
    hash.update(file).update(readFileSync(join(ROOT, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

/** Whether the build is whole, and newer than each of its sources. */
function isBuilt(): boolean {
  try {
    const list = join(BUILT, INPUTS);
    const builtAt = statSync(list).mtimeMs;
    const inputs = JSON.parse(readFileSync(list, 'utf8')) as readonly string[];
    const programs = PROGRAMS.map((name) => `dist/guest/${name}`);
    return [...inputs, ...programs].every((file) => statSync(join(ROOT, file)).mtimeMs <= builtAt);
  } catch {
    // A source or a program is gone, or nothing is built.
    return false;
  }
}

/**
 * The guest's programs, each in one file, by their names in its folder.
 * @throws Error where they are not built and cannot be built
 */
export async function bundleGuest(): Promise<Record<string, string>> {
  if (isBuilt()) return readBuilt();
  const esbuild = await import('esbuild').catch(() => undefined);
  if (esbuild === undefined) return readBuilt();
  return (await bundle(esbuild)).files;
}

async function bundle(esbuild: typeof import('esbuild')) {
  const inputs = new Set([`guest/${SCRIPT}`, relative(ROOT, import.meta.filename), 'package-lock.json']);
  const files: Record<string, string> = {
    'package.json': '{"type":"module"}\n',
    [SCRIPT]: readFileSync(join(SOURCES, SCRIPT), 'utf8'),
  };
  for (const [name, entry] of Object.entries(ENTRIES)) {
    const { outputFiles, metafile } = await esbuild.build({
      absWorkingDir: ROOT,
      metafile: true,
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
    for (const file of Object.keys(metafile.inputs)) {
      // A builtin module is not a file.
      if (!file.includes(':') && !file.startsWith('node_modules/')) inputs.add(file);
    }
  }
  return { files, inputs: [...inputs] };
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
  if (isBuilt()) return BUILT;
  const esbuild = await import('esbuild');
  const { files, inputs } = await bundle(esbuild);
  await esbuild.stop();
  mkdirSync(BUILT, { recursive: true });
  // The list is last: until then nothing is built.
  for (const [name, text] of Object.entries({ ...files, [INPUTS]: JSON.stringify(inputs) })) {
    const fresh = join(BUILT, `.${name}.${process.pid}`);
    writeFileSync(fresh, text);
    renameSync(fresh, join(BUILT, name));
  }
  return BUILT;
}

function readBuilt(): Record<string, string> {
  const names = PROGRAMS.filter((name) => existsSync(join(BUILT, name)));
  if (!names.includes('guest.js')) {
    throw new Error('the guest is not built: run npm ci, or npm run build');
  }
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(BUILT, name), 'utf8')]));
}
