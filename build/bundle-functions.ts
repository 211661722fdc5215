import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { build, type Plugin } from 'rolldown';
import { readToolPrograms } from '#adapters/editor/tool-programs.ts';
import { BUNDLED_CONSOLE, CONSOLE_FOLDER } from '#handlers/console/console-folder.ts';
import { lazyRoutesPlugin } from './lazy-routes.ts';
import { ROOT } from './root.ts';

/** Modules that a function's configuration rules out. */
const ONE_MACHINE = [
  'host/platforms/local-platform.ts',
  'host/platforms/docker-platform.ts',
  'host/open-broker.ts',
  'adapters/sql/sqlite/open-sqlite-records.ts',
].map((file) => join(ROOT, file));

/** A static import of a module that is left out fails the build. */
const leftOutPlugin: Plugin = {
  name: 'left-out',
  load: (id) =>
    ONE_MACHINE.includes(id)
      ? `throw new Error('${relative(ROOT, id)} is not part of the functions');`
      : null,
};

const BUILTIN = '\0builtin:';

/** Loaded by the first use of an export. */
const LATE = ['child_process', 'dns/promises', 'http', 'https', 'module', 'tls', 'worker_threads', 'zlib'];

/**
 * An import of a builtin module reads all its exports, and some load more modules at that.
 * `getBuiltinModule` loads what is used (`docs/performance.md`).
 */
export const builtinsPlugin: Plugin = {
  name: 'builtins',
  resolveId(id, importer) {
    // The bundler's runtime, which every other module needs.
    if (!isBuiltin(id) || importer?.startsWith('\0') === true) return null;
    return `${BUILTIN}${id.replace(/^node:/, '')}`;
  },
  load(id) {
    if (!id.startsWith(BUILTIN)) return null;
    const name = `node:${id.slice(BUILTIN.length)}`;
    const loaded = `process.getBuiltinModule(${JSON.stringify(name)})`;
    if (!LATE.includes(id.slice(BUILTIN.length))) return `module.exports = ${loaded};`;
    const names = Object.keys(process.getBuiltinModule(name) ?? {});
    return `for (const name of ${JSON.stringify(names)})
  Object.defineProperty(exports, name, { enumerable: true, get: () => ${loaded}[name] });`;
  },
};

/** Two shared files: the code of every function, and the code that opens services. */
const GROUPS = [
  { name: 'start', test: /\/host\/serverless\/router-function\.ts$/, priority: 2 },
  {
    name: 'open',
    test: /\/(?:function-config|kubernetes-platform|open-postgres-records|kubernetes-provider|kubeconfig-access)\.ts$|\/node_modules\/pg\//,
    priority: 1,
  },
];

/** Puts the programs that run tools into the bundle, which has no files beside it. */
const toolProgramsPlugin: Plugin = {
  name: 'tool-programs',
  load: (id) =>
    id === join(ROOT, 'adapters/editor/tool-programs.ts')
      ? `export const readToolPrograms = () => (${JSON.stringify(readToolPrograms())});`
      : null,
};

/** One function, as deployment tools read it. */
export interface BundledFunction {
  readonly id: string;
  /** Module and export, as AWS Lambda names a handler. */
  readonly handler: string;
  /** When it runs, in cron's five fields; absent for routes. */
  readonly schedule?: string;
}

export const FUNCTIONS: readonly BundledFunction[] = [
  { id: 'router', handler: 'router.handler' },
  { id: 'stream', handler: 'router.stream' },
  { id: 'reaper', handler: 'scheduled.reaper', schedule: '* * * * *' },
  { id: 'lifecycle', handler: 'scheduled.lifecycle', schedule: '* * * * *' },
  { id: 'snapshots-clean', handler: 'scheduled.snapshotsClean', schedule: '*/10 * * * *' },
  { id: 'warm-pool', handler: 'scheduled.warmPool', schedule: '* * * * *' },
];

/** File name of the list of all functions. */
const MANIFEST = 'functions.json';

/** Loaded only outside functions, or optional in the packages that load them. */
export const EXTERNAL = ['pino-pretty', 'pg-native', 'pg-cloudflare'];

/**
 * Bundles the functions into that folder, which is emptied first: `router.mjs` for all routes,
 * `scheduled.mjs`, and what they load on demand. The console must have been built.
 */
export async function bundleFunctions(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await build({
    cwd: ROOT,
    input: {
      router: join(ROOT, 'host/serverless/all-routes.ts'),
      scheduled: join(ROOT, 'host/serverless/schedules.ts'),
    },
    platform: 'node',
    external: EXTERNAL,
    resolve: { mainFields: ['module', 'main'] },
    plugins: [lazyRoutesPlugin, leftOutPlugin, toolProgramsPlugin, builtinsPlugin],
    preserveEntrySignatures: 'allow-extension',
    logLevel: 'silent',
    output: {
      dir: folder,
      format: 'esm',
      minify: true,
      comments: false,
      // For stack traces, with `NODE_OPTIONS=--enable-source-maps`; no function loads them.
      sourcemap: true,
      entryFileNames: '[name].mjs',
      chunkFileNames: 'chunks/[name]-[hash].mjs',
      codeSplitting: { groups: GROUPS },
    },
  });
  await cp(CONSOLE_FOLDER, join(folder, BUNDLED_CONSOLE), { recursive: true });
  await writeFile(join(folder, MANIFEST), `${JSON.stringify(FUNCTIONS, null, 2)}\n`);
}
