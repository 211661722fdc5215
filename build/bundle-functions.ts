import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { build, type Metafile } from 'esbuild';
import type { Method } from '#handlers/route.ts';
import { entriesPlugin, entryPoint } from './entries-plugin.ts';
import { type FunctionEntry, functionEntries, ROOT } from './function-entries.ts';
import { leftOutPlugin } from './left-out-plugin.ts';
import { yamlPlugin } from './yaml-plugin.ts';
import { zodPlugin } from './zod-plugin.ts';

/** One function, for whoever deploys it. */
export interface BundledFunction {
  readonly id: string;
  /** What leads to it; absent for what runs on a schedule. */
  readonly method?: Method;
  readonly path?: string;
  /** Its module, which exports `handler`. */
  readonly file: string;
  /** Everything that it may ever load, itself first, below the folder. */
  readonly files: readonly string[];
}

/** Name of the list of all functions in the folder. */
export const MANIFEST = 'functions.json';

/** What the page of the API's documentation reads from a package, beside the bundles. */
const VIEWER = { package: 'swagger-ui-dist', of: 'getOpenApiAsset' } as const;
const VIEWER_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'package.json', 'LICENSE'];

/** Loaded by other ways of running Porthole only, or by packages that try whether they are there. */
const EXTERNAL = ['pino-pretty', 'pg-native', 'pg-cloudflare'];

/** Packages of the time before ESM ask for these. */
const BANNER = `import { createRequire as __createRequire } from 'node:module';
import { dirname as __parent } from 'node:path';
import { fileURLToPath as __path } from 'node:url';
const require = __createRequire(import.meta.url), __filename = __path(import.meta.url), __dirname = __parent(__filename);`;

/**
 * Bundles each function into `{id}.mjs` of that folder, which is emptied first. What they share, and what they load when it is first needed, stands once, in
 * `chunks`; the list in `functions.json` tells which of it a function needs.
 */
export async function bundleFunctions(folder: string): Promise<BundledFunction[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const entries = await functionEntries();
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: entries.map((entry) => ({ in: entryPoint(entry), out: entry.id })),
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    chunkNames: 'chunks/[name]-[hash]',
    outExtension: { '.js': '.mjs' },
    minifySyntax: true,
    minifyWhitespace: true,
    external: EXTERNAL,
    banner: { js: BANNER },
    plugins: [entriesPlugin(entries), leftOutPlugin(), yamlPlugin(), zodPlugin()],
    metafile: true,
    logLevel: 'error',
  });
  await copyViewer(folder);
  const functions = entries.map((entry) => describe(entry, metafile, folder));
  await writeFile(join(folder, MANIFEST), `${JSON.stringify(functions, null, 2)}\n`);
  return functions;
}

function describe({ id, route }: FunctionEntry, { outputs }: Metafile, folder: string): BundledFunction {
  const file = `${id}.mjs`;
  const found = new Set<string>();
  const visit = (output: string): void => {
    if (found.has(output)) return;
    found.add(output);
    for (const { path, external } of outputs[output]?.imports ?? []) if (external !== true) visit(path);
  };
  visit(relative(ROOT, join(folder, file)));
  const viewer = id === VIEWER.of ? VIEWER_FILES.map(viewerPath) : [];
  const files = [...found].map((output) => relative(folder, join(ROOT, output)));
  return { id, ...route, file, files: [...files, ...viewer] };
}

function viewerPath(file: string): string {
  return join('node_modules', VIEWER.package, file);
}

async function copyViewer(folder: string): Promise<void> {
  const from = dirname(createRequire(import.meta.url).resolve(`${VIEWER.package}/package.json`));
  for (const file of VIEWER_FILES) await cp(join(from, basename(file)), join(folder, viewerPath(file)));
}
