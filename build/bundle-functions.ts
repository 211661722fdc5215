import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { readToolPrograms } from '#adapters/editor/tool-programs.ts';
import {
  BUNDLED_CONSOLE,
  CONSOLE_FOLDER,
  CONSOLE_MARK,
  PREVIEW_APP_PAGE,
} from '#handlers/console/console-folder.ts';
import type { Method } from '#handlers/route.ts';
import { functionEntries, type FunctionEntry, type FunctionKind, ROOT } from './function-entries.ts';

const PREFIX = 'function:';

/** The name of an entry for esbuild. */
function entryPoint({ id }: FunctionEntry): string {
  return `${PREFIX}${id}`;
}

/** Gives esbuild the generated sources of the entries, which are not files. */
function entriesPlugin(entries: readonly FunctionEntry[]): Plugin {
  const sources = new Map(entries.map((entry) => [entryPoint(entry), entry.source]));
  return {
    name: 'entries',
    setup(build) {
      build.onResolve({ filter: new RegExp(`^${PREFIX}`) }, ({ path }) => ({ path, namespace: PREFIX }));
      build.onLoad({ filter: /./, namespace: PREFIX }, ({ path }) => ({
        contents: sources.get(path) ?? '',
        resolveDir: ROOT,
        loader: 'ts',
      }));
    },
  };
}

/** Modules that a function's configuration rules out: left out of every bundle. */
const ONE_MACHINE = [
  'host/local-platform.ts',
  'host/docker-platform.ts',
  'host/open-broker.ts',
  'adapters/egress/sandbox-authority.ts',
  'adapters/sql/sqlite/open-sqlite-records.ts',
];
/** All routes at once: only the functions of the documentation need them. */
const DOCUMENTATION = ['handlers/ops/openapi-document.ts', 'handlers/routes.ts'];

/**
 * Replaces modules that a function never loads with an error. A static import of one fails the
 * build.
 */
function leftOutPlugin(files: readonly string[]): Plugin {
  return {
    name: 'left-out',
    setup(build) {
      const paths = files.map((file) => join(ROOT, file).replace(/[.\\]/g, '\\$&'));
      build.onLoad({ filter: new RegExp(`^(${paths.join('|')})$`) }, ({ path }) => {
        const name = path.slice(ROOT.length + 1);
        return { contents: `throw new Error('${name} is not part of this function');`, loader: 'js' };
      });
    },
  };
}

/** Only texts in English are used; the others are 300 kB. */
const localesPlugin: Plugin = {
  name: 'locales',
  setup(build) {
    build.onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
      loader: 'js',
    }));
  },
};

const OBJECT = "import { z } from 'zod';";
const NAMESPACE = "import * as z from 'zod';";

/**
 * Our modules import zod as one object, which a bundler keeps whole (450 kB). A namespace import is
 * tree-shaken.
 */
function zodPlugin(): Plugin {
  const ours = new RegExp(
    `^${ROOT.replace(/[.\\]/g, '\\$&')}/(adapters|constructs|core|handlers|host)/.*\\.ts$`,
  );
  return {
    name: 'zod',
    setup(build) {
      build.onLoad({ filter: ours }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        return { contents: source.replace(OBJECT, NAMESPACE), loader: 'ts' };
      });
    },
  };
}

/** Puts the programs that run tools into the bundle, which has no files beside it. */
const toolProgramsPlugin: Plugin = {
  name: 'tool-programs',
  setup(build) {
    build.onLoad({ filter: /\/adapters\/editor\/tool-programs\.ts$/ }, () => ({
      contents: `export const readToolPrograms = () => (${JSON.stringify(readToolPrograms())});`,
      loader: 'js',
    }));
  },
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

/** Package that the page of the API's documentation reads at run time, outside its bundle. */
const VIEWER = { package: 'swagger-ui-dist', of: 'getOpenApiAsset' } as const;
const VIEWER_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'package.json', 'LICENSE'];

/** The function of the console's scripts and style; the others of its tag serve its page. */
const CONSOLE_ASSETS = 'getConsoleAsset';

/** The function of all routes, with every file that one of them reads. */
const ROUTER = 'router';

/** The function that sends the page for chat applications. */
const MCP = 'callMcp';

/** Loaded only outside functions, or optional in the packages that load them. */
const EXTERNAL = ['pino-pretty', 'pg-native', 'pg-cloudflare'];

/** CommonJS globals that packages without ESM use. */
const BANNER = `import { createRequire as __createRequire } from 'node:module';
import { dirname as __parent } from 'node:path';
import { fileURLToPath as __path } from 'node:url';
const require = __createRequire(import.meta.url), __filename = __path(import.meta.url), __dirname = __parent(__filename);`;

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
  const viewer = await copyViewer(folder);
  const built = await copyConsole(folder);
  const besides = ({ id, isConsole }: FunctionEntry): readonly string[] => {
    if (id === ROUTER) return [...viewer, ...built];
    if (id === VIEWER.of) return viewer;
    if (id === MCP)
      return built.filter((file) => file.endsWith(PREVIEW_APP_PAGE) || file.endsWith(CONSOLE_MARK));
    if (!isConsole) return [];
    return built.filter((file) => isAsset(file) === (id === CONSOLE_ASSETS) || file.endsWith(CONSOLE_MARK));
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
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: entries.map((entry) => ({ in: entryPoint(entry), out: entry.id })),
    outdir: folder,
    bundle: true,
    splitting: kind !== 'alone',
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    chunkNames: 'chunks/[name]-[hash]',
    outExtension: { '.js': '.mjs' },
    // Names are kept, for stack traces.
    minifySyntax: true,
    minifyWhitespace: true,
    external: EXTERNAL,
    banner: { js: BANNER },
    plugins: [entriesPlugin(entries), leftOutPlugin(leftOut), localesPlugin, toolProgramsPlugin, zodPlugin()],
    metafile: true,
    logLevel: 'error',
  });
  const filesOf = ({ id }: FunctionEntry): string[] => {
    const found = new Set<string>();
    const visit = (output: string): void => {
      if (found.has(output)) return;
      found.add(output);
      for (const { path, external } of metafile.outputs[output]?.imports ?? []) {
        if (external !== true) visit(path);
      }
    };
    visit(relative(ROOT, join(folder, `${id}.mjs`)));
    return [...found].map((output) => relative(folder, join(ROOT, output)));
  };
  return new Map(entries.map((entry) => [entry.id, filesOf(entry)]));
}

async function copyViewer(folder: string): Promise<string[]> {
  const from = dirname(createRequire(import.meta.url).resolve(`${VIEWER.package}/package.json`));
  const below = join('node_modules', VIEWER.package);
  for (const file of VIEWER_FILES) await cp(join(from, file), join(folder, below, file));
  return VIEWER_FILES.map((file) => join(below, file));
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
