/**
 * `node build/build-packages.ts <folder>` builds one package of the repository in its `dist`: what
 * its `prepack` runs. A package has nothing of the server but what it imports.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { bundleGuest } from '../adapters/guest/guest-bundle.ts';
import { installDevPackages } from './dev-packages.ts';
import { ROOT } from './root.ts';

const TSC = join(ROOT, 'node_modules/native-typescript/bin/tsc');
const execute = promisify(execFile);

/** Entry modules of each package. Those without are compiled file by file. */
const ENTRIES = {
  client: [],
  constructs: ['index.ts'],
  guest: ['index.ts'],
  infra: ['index.ts', 'render/main.ts'],
  integrations: [],
  policies: ['pack.ts'],
} as const;

export type PackageFolder = keyof typeof ENTRIES;

export const PACKAGES = Object.keys(ENTRIES) as readonly PackageFolder[];

/** Empties the folder first. */
export async function buildPackage(name: PackageFolder, folder = join(ROOT, name, 'dist')): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const compile = (...options: readonly string[]) =>
    execute(process.execPath, [TSC, '--project', join(ROOT, name), '--outDir', folder, ...options]);
  if (name === 'client') {
    await execute(process.execPath, [join(ROOT, 'build/write-api-types.ts')]);
    await compile();
    return;
  }
  if (name === 'integrations') {
    // The frameworks are not installed here: a test checks the types against them.
    await compile('--noCheck');
    return;
  }
  await build({
    entryPoints: ENTRIES[name].map((entry) => join(ROOT, name, entry)),
    outdir: folder,
    outbase: join(ROOT, name),
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    packages: 'external',
    logLevel: 'warning',
  });
  if (name === 'guest') {
    const { 'guest.js': guest = '', porthole = '' } = await bundleGuest();
    await writeFile(join(folder, 'guest.js'), guest);
    await writeFile(join(folder, 'porthole'), porthole, { mode: 0o755 });
  }
  if (name !== 'policies') await writeTypes(`${name}/index.ts`, join(folder, 'types'));
}

/** The declarations that those of the entry lead to, with relative specifiers throughout. */
async function writeTypes(entry: string, folder: string): Promise<void> {
  const emitted = await mkdtemp(join(tmpdir(), 'porthole-types-'));
  try {
    const project = join(emitted, 'tsconfig.json');
    const compilerOptions = {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: ROOT,
      outDir: emitted,
      typeRoots: [join(ROOT, 'node_modules/@types')],
    };
    await writeFile(
      project,
      JSON.stringify({
        extends: join(ROOT, 'tsconfig.json'),
        compilerOptions,
        include: [],
        files: [join(ROOT, entry)],
      }),
    );
    await execute(process.execPath, [TSC, '--project', project]);
    await copyTypes(declarationOf(entry), emitted, folder, new Set());
  } finally {
    await rm(emitted, { recursive: true });
  }
}

const SPECIFIER = /(?<=\bfrom |\bimport\(|^import )(['"])((?:#|\.\.?\/)[^'"]+)\1/gm;

async function copyTypes(file: string, from: string, to: string, copied: Set<string>): Promise<void> {
  if (copied.has(file)) return;
  copied.add(file);
  const text = await readFile(join(from, file), 'utf8');
  const needed: string[] = [];
  const written = text.replaceAll(SPECIFIER, (_all, quote: string, specifier: string) => {
    const target = specifier.startsWith('#')
      ? specifier.slice(1)
      : posix.join(posix.dirname(file), specifier);
    needed.push(declarationOf(target));
    const path = posix.relative(posix.dirname(file), target.replace(/\.ts$/, '.js'));
    return `${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
  });
  await mkdir(dirname(join(to, file)), { recursive: true });
  await writeFile(join(to, file), written);
  for (const each of needed) await copyTypes(each, from, to, copied);
}

function declarationOf(file: string): string {
  return file.replace(/\.ts$/, '.d.ts');
}

if (import.meta.main) {
  const [name] = process.argv.slice(2);
  if (!PACKAGES.includes(name as PackageFolder)) {
    throw new Error(`Usage: node build/build-packages.ts <folder>, one of ${PACKAGES.join(', ')}`);
  }
  installDevPackages();
  await buildPackage(name as PackageFolder);
}
