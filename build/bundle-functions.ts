import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { build, type OutputChunk, type Plugin } from 'rolldown';
import { Visitor } from 'rolldown/utils';
import { readToolPrograms } from '#adapters/editor/tool-programs.ts';
import {
  BUNDLED_CONSOLE,
  API_VIEWER,
  CONSOLE_FOLDER,
  CONSOLE_MARK,
  PREVIEW_APP_PAGE,
} from '#handlers/console/console-folder.ts';
import type { Method } from '#handlers/route.ts';
import { functionEntries, type FunctionEntry, type FunctionKind, ROOT } from './function-entries.ts';

const PREFIX = 'function:';

/** The generated sources of the entries, which are not files. */
function entriesPlugin(entries: readonly FunctionEntry[]): Plugin {
  const sources = new Map(entries.map(({ id, source }) => [`${PREFIX}${id}`, source]));
  return {
    name: 'entries',
    resolveId(id, importer, options) {
      if (sources.has(id)) return id;
      if (importer === undefined || !sources.has(importer)) return null;
      return this.resolve(id, join(ROOT, 'package.json'), { ...options, skipSelf: true });
    },
    load(id) {
      const code = sources.get(id);
      return code === undefined ? null : { code, moduleType: 'ts' };
    },
  };
}

/** Modules that a function's configuration rules out: left out of every bundle. */
const ONE_MACHINE = [
  'host/local-platform.ts',
  'host/docker-platform.ts',
  'host/open-broker.ts',
  'adapters/sql/sqlite/open-sqlite-records.ts',
];
/** All routes at once: only the functions of the documentation need them. */
const DOCUMENTATION = ['handlers/ops/openapi-document.ts', 'handlers/routes.ts'];

/**
 * Replaces modules that a function never loads with an error. A static import of one fails the
 * build.
 */
function leftOutPlugin(files: readonly string[]): Plugin {
  const paths = new Set(files.map((file) => join(ROOT, file)));
  return {
    name: 'left-out',
    load(id) {
      if (!paths.has(id)) return null;
      return `throw new Error('${relative(ROOT, id)} is not part of this function');`;
    },
  };
}

const OBJECT = "import { z } from 'zod';";
const NAMESPACE = "import * as z from 'zod';";
const ENGLISH = "export { default as en } from './en.js';";

/**
 * Our modules import zod as one object, which a bundler keeps whole (450 kB). A namespace import is
 * tree-shaken. Of its texts only those in English are used; the others are 300 kB.
 */
export const zodPlugin: Plugin = {
  name: 'zod',
  load: (id) => (id.endsWith('/zod/v4/locales/index.js') ? ENGLISH : null),
  transform: (code, id) =>
    id.startsWith(`${ROOT}/`) && id.endsWith('.ts') ? code.replace(OBJECT, NAMESPACE) : null,
};

/** What packages import statically and no function needs, by path below `node_modules`. */
const TRIMMED: Readonly<Record<string, string>> = {
  // find-my-way checks its own regular expressions, and those of routes, which have none.
  'safe-regex2/index.js': 'module.exports = () => true;',
  'find-my-way/lib/pretty-print.js': '',
  // Functions parse the query themselves.
  'fast-querystring/lib/index.js': '',
  'pg/lib/native/index.js': '',
  // What of Kysely no query uses.
  'kysely/dist/plugin/with-schema/with-schema-plugin.js': 'export class WithSchemaPlugin {}',
  'kysely/dist/query-builder/merge-query-builder.js': 'export class MergeQueryBuilder {}',
  'kysely/dist/schema/schema-module.js': 'export class SchemaModule {}',
  'kysely/dist/dialect/postgres/postgres-introspector.js': 'export class PostgresIntrospector {}',
  // cdk8s writes files, and reads them by patterns; functions only take its manifests.
  'cdk8s/lib/yaml.js': '',
  'minimatch/minimatch.js': '',
};

/** For find-my-way: `node:assert` loads modules that nothing else uses, which takes 4 ms. */
const ASSERT = '\0assert';
const PLAIN_ASSERT = 'module.exports = (holds, message) => { if (!holds) throw new Error(message); };';

const trimPlugin: Plugin = {
  name: 'trim',
  resolveId: (id, importer) =>
    id === 'node:assert' && importer?.includes('/node_modules/find-my-way/') === true ? ASSERT : null,
  load(id) {
    if (id === ASSERT) return PLAIN_ASSERT;
    const [, path] = id.split(/.*\/node_modules\//);
    return path === undefined ? null : (TRIMMED[path] ?? null);
  },
};

const ENVIRONMENT = join(ROOT, 'protocol/settings/environment-schema.ts');

/**
 * Drops the descriptions of variables, which only `npm run config` and stacks print: each is one
 * more schema.
 */
const descriptionsPlugin: Plugin = {
  name: 'descriptions',
  transform(code, id) {
    if (id !== ENVIRONMENT) return null;
    const ranges: (readonly [number, number])[] = [];
    new Visitor({
      CallExpression({ callee, end }) {
        if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
        if (callee.property.name === 'describe') ranges.push([callee.object.end, end]);
      },
    }).visit(this.parse(code, { lang: 'ts' }));
    return ranges
      .toSorted(([a], [b]) => b - a)
      .reduce((text, [start, end]) => text.slice(0, start) + text.slice(end), code);
  },
};

/** Loaded on demand elsewhere, and always by a function that opens its services. */
const OPENED = [
  '#adapters/kubernetes/client/kubeconfig-access.ts',
  '#adapters/kubernetes/sandboxes/kubernetes-provider.ts',
  '#adapters/sql/postgres/open-postgres-records.ts',
  './kubernetes-platform.ts',
  'pg',
];

/** Makes dynamic imports of `OPENED` static: a file more costs a millisecond. */
const openedPlugin: Plugin = {
  name: 'opened',
  transform(code, id) {
    if (!id.startsWith(`${ROOT}/`) || id.includes('/node_modules/')) return null;
    const found = OPENED.filter((each) => code.includes(`await import('${each}')`));
    if (found.length === 0) return null;
    return found.reduce((text, each, at) => {
      const name = `opened${at}`;
      return `import * as ${name} from '${each}';\n${text.replaceAll(`await import('${each}')`, name)}`;
    }, code);
  },
};

const BUILTIN = '\0builtin:';

/** Loaded by the first use of an export: 2 ms each. */
const LATE = ['child_process', 'dns/promises', 'http', 'https', 'module', 'tls', 'worker_threads', 'zlib'];

/**
 * An import of a builtin module reads all its exports, and some load more modules at that: 40 ms in
 * total. `getBuiltinModule` loads what is used.
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

/**
 * Two chunks instead of a hundred: what every function loads, and what is loaded when one opens its
 * services. Each file costs a millisecond.
 */
const GROUPS = [
  { name: 'start', test: /\/host\/serverless\/(?:http|router)-function\.ts$/, priority: 2 },
  {
    name: 'open',
    test: /\/host\/serverless\/function-config\.ts$/,
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
  /** Method and path of its route; absent for a scheduled function. */
  readonly method?: Method;
  readonly path?: string;
  /** When it runs, in cron's five fields; absent for a route. */
  readonly schedule?: string;
  /** Whether it needs a function host that streams responses. */
  readonly streams: boolean;
  /** Its module, which exports `handler`. */
  readonly file: string;
  /** Every file that it may load, its own first, relative to the folder. */
  readonly files: readonly string[];
}

/** File name of the list of all functions. */
export const MANIFEST = 'functions.json';

/** The function of the viewer of the API's documentation. */
const VIEWER = 'getOpenApiAsset';

/** The function of the console's scripts and style; the others of its tag serve its page. */
const CONSOLE_ASSETS = 'getConsoleAsset';

/** The function of all routes, with every file that one of them reads. */
const ROUTER = 'router';

/** The function that sends the page for chat applications. */
const MCP = 'callMcp';

/** Loaded only outside functions, or optional in the packages that load them. */
export const EXTERNAL = ['pino-pretty', 'pg-native', 'pg-cloudflare'];

/**
 * Bundles each function into `{id}.mjs` of that folder, which is emptied first. Shared and lazily
 * loaded code goes to `chunks`, the console, which must have been built, to `console`.
 * `functions.json` lists the functions and the files of each.
 */
export async function bundleFunctions(folder: string): Promise<BundledFunction[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const entries = await functionEntries();
  const files = new Map<string, readonly string[]>();
  for (const kind of ['alone', 'opens', 'documents', 'router'] as const) {
    const group = entries.filter((entry) => entry.kind === kind);
    for (const [id, found] of await bundle(kind, group, folder)) files.set(id, found);
  }
  const built = await copyConsole(folder);
  const besides = ({ id, isConsole }: FunctionEntry): readonly string[] => {
    const viewer = built.filter((file) => file.includes(API_VIEWER));
    if (id === ROUTER) return built;
    if (id === VIEWER) return viewer;
    if (id === MCP)
      return built.filter((file) => file.endsWith(PREVIEW_APP_PAGE) || file.endsWith(CONSOLE_MARK));
    if (!isConsole) return [];
    return built.filter(
      (file) =>
        !viewer.includes(file) && (isAsset(file) === (id === CONSOLE_ASSETS) || file.endsWith(CONSOLE_MARK)),
    );
  };
  const functions = entries.map((entry): BundledFunction => {
    const { id, route, schedule, streams } = entry;
    const own = [...(files.get(id) ?? []), ...besides(entry)];
    return {
      id,
      ...route,
      ...(schedule !== undefined && { schedule }),
      streams,
      file: `${id}.mjs`,
      files: own,
    };
  });
  await writeFile(join(folder, MANIFEST), `${JSON.stringify(functions, null, 2)}\n`);
  return functions;
}

/** Bundles functions of one kind; returns the files of each. */
async function bundle(
  kind: FunctionKind,
  entries: readonly FunctionEntry[],
  folder: string,
): Promise<Map<string, readonly string[]>> {
  const leftOut =
    kind === 'documents' || kind === 'router' ? ONE_MACHINE : [...ONE_MACHINE, ...DOCUMENTATION];
  const { output } = await build({
    cwd: ROOT,
    input: Object.fromEntries(entries.map(({ id }) => [id, `${PREFIX}${id}`])),
    platform: 'node',
    external: EXTERNAL,
    resolve: { mainFields: ['module', 'main'] },
    plugins: [
      entriesPlugin(entries),
      leftOutPlugin(leftOut),
      toolProgramsPlugin,
      zodPlugin,
      trimPlugin,
      openedPlugin,
      descriptionsPlugin,
      builtinsPlugin,
    ],
    preserveEntrySignatures: 'allow-extension',
    logLevel: 'silent',
    output: {
      dir: folder,
      format: 'esm',
      minify: true,
      comments: false,
      // For stack traces, with `NODE_OPTIONS=--enable-source-maps`; no function loads them.
      sourcemap: kind === 'router',
      entryFileNames: '[name].mjs',
      chunkFileNames: 'chunks/[name]-[hash].mjs',
      codeSplitting: kind === 'alone' ? true : { groups: GROUPS },
    },
  });
  const chunks = new Map(
    output.filter((each): each is OutputChunk => each.type === 'chunk').map((each) => [each.fileName, each]),
  );
  const filesOf = ({ id }: FunctionEntry): string[] => {
    const found = new Set<string>();
    const visit = (file: string): void => {
      const chunk = chunks.get(file);
      if (chunk === undefined || found.has(file)) return;
      found.add(file);
      for (const each of [...chunk.imports, ...chunk.dynamicImports]) visit(each);
    };
    visit(`${id}.mjs`);
    return [...found];
  };
  return new Map(entries.map((entry) => [entry.id, filesOf(entry)]));
}

/** Returns the copied files, relative to the folder. */
async function copyConsole(folder: string): Promise<string[]> {
  await cp(CONSOLE_FOLDER, join(folder, BUNDLED_CONSOLE), { recursive: true });
  const entries = await readdir(CONSOLE_FOLDER, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(BUNDLED_CONSOLE, relative(CONSOLE_FOLDER, join(entry.parentPath, entry.name))));
}

function isAsset(file: string): boolean {
  return file.startsWith(join(BUNDLED_CONSOLE, 'assets/'));
}
