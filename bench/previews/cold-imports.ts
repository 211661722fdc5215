import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { type Arm, type BenchResult, compare, interleave } from '../measure.ts';

/** Output folder of the functions in `npm run build`. */
const FOLDER = join(import.meta.dirname, '../../dist/functions');
const FUNCTIONS = ['startPortForward', 'keepPreviewAlive', 'stopPortForward', 'reaper'];
/**
 * Modules that a function loads at its first request in a cluster, by the bundler's names of lazy
 * chunks.
 */
const OPENED = [
  'open-services',
  'function-config',
  'config',
  'kubernetes-platform',
  'kubernetes-provider',
  'open-postgres-records',
  'esm',
];
/** Marks a module that contains cdk8s: the name under which it registers itself. */
const MARK = 'cdk8s.ApiObject';
const GOAL = { at: 'most', value: 1.15 } as const;
const REFERENCE = 'cdk8s and zod alone';

interface Bundled {
  readonly id: string;
  readonly file: string;
  readonly files: readonly string[];
}

const run = promisify(execFile);

/**
 * P3: the CPU time of importing a function's bundle in a new process, against a bundle of only
 * cdk8s and zod.
 */
export async function benchColdImports(rounds: number): Promise<BenchResult[]> {
  const manifest = join(FOLDER, 'functions.json');
  if (!existsSync(manifest)) {
    process.stdout.write('  P3 is left out, because there are no bundles: run npm run build first.\n');
    return [];
  }
  const all = JSON.parse(readFileSync(manifest, 'utf8')) as readonly Bundled[];
  const functions = all.filter(({ id }) => FUNCTIONS.includes(id)).filter(({ files }) => files.some(carries));
  const folder = await mkdtemp(join(tmpdir(), 'porthole-bench-'));
  try {
    const reference = join(folder, 'reference.mjs');
    await bundleReference(reference);
    const arms: Record<string, Arm> = { [REFERENCE]: () => importCost([reference]) };
    for (const each of functions) {
      arms[each.id] = () => importCost([join(FOLDER, each.file)]);
      arms[`${each.id}, first request`] = () =>
        importCost([each.file, ...openedBy(each)].map((file) => join(FOLDER, file)));
    }
    await interleave(arms, 1);
    const figures = await interleave(arms, rounds);
    const results = functions.flatMap(({ id }) => [
      compare(`P3 import of ${id} / ${REFERENCE}`, figures, [id, REFERENCE], 'ms', GOAL),
      compare(
        `P3 import of all that its first request loads / ${REFERENCE}`,
        figures,
        [`${id}, first request`, REFERENCE],
        'ms',
      ),
    ]);
    const sizes = Object.fromEntries(
      functions.map(({ id, files }) => [id, [files.reduce((sum, file) => sum + sizeOf(file), 0)]]),
    );
    return [
      ...results,
      ...functions.map(({ id }) =>
        compare(
          `P3 all files of ${id} / ${REFERENCE}, minified`,
          { ...sizes, [REFERENCE]: [statSync(reference).size] },
          [id, REFERENCE],
          'B',
        ),
      ),
    ];
  } finally {
    await rm(folder, { recursive: true });
  }
}

function carries(file: string): boolean {
  return readFileSync(join(FOLDER, file), 'utf8').includes(MARK);
}

function sizeOf(file: string): number {
  return statSync(join(FOLDER, file)).size;
}

function openedBy({ id, files }: Bundled): readonly string[] {
  const names = id.startsWith('start') ? [...OPENED, 'open-preview'] : OPENED;
  return files.filter((file) =>
    names.some((name) => new RegExp(`^chunks/${name}-[A-Z0-9]{8}\\.mjs$`).test(file)),
  );
}

/** Bundled like the functions. */
async function bundleReference(outfile: string): Promise<void> {
  await build({
    stdin: {
      contents: "export * as cdk8s from 'cdk8s'; export { z } from 'zod';",
      resolveDir: import.meta.dirname,
    },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    minifySyntax: true,
    minifyWhitespace: true,
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url), __dirname = import.meta.dirname;",
    },
    logLevel: 'error',
  });
}

/** CPU milliseconds of a new process for importing these modules. */
async function importCost(modules: readonly string[]): Promise<number> {
  const script = `const before = process.cpuUsage();
for (const module of ${JSON.stringify(modules)}) await import(module);
const { user, system } = process.cpuUsage(before);
process.stdout.write(String((user + system) / 1_000));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  return Number(stdout);
}
