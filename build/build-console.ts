import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { z } from 'zod';
import {
  API_VIEWER,
  CONSOLE_FOLDER,
  CONSOLE_MARK,
  CONSOLE_SOURCES,
  PREVIEW_APP_PAGE,
} from '#handlers/console/console-folder.ts';

const ROOT = join(import.meta.dirname, '..');
const SOURCES = join(ROOT, 'console');

/**
 * The digest of everything that a build depends on; undefined if the sources are not installed.
 */
export async function consoleDigest(): Promise<string | undefined> {
  if (!existsSync(SOURCES)) return undefined;
  const hash = createHash('sha256');
  for (const source of CONSOLE_SOURCES.map((each) => join(ROOT, each))) {
    for (const file of (await stat(source)).isDirectory() ? await filesIn(source) : [source]) {
      hash.update(`${file.slice(ROOT.length)}\0`).update(await readFile(file));
    }
  }
  return hash.digest('hex').slice(0, 32);
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** Whether the folder has no build, or one of different sources. */
export async function isConsoleStale(folder = CONSOLE_FOLDER): Promise<boolean> {
  const [digest, built] = await Promise.all([
    consoleDigest(),
    readFile(join(folder, CONSOLE_MARK), 'utf8').catch(() => undefined),
  ]);
  return digest !== undefined && digest !== built;
}

/**
 * Builds the console where its build is missing or of other sources. The mark then has the time for
 * which that holds, so that the host need not read the sources (`isConsoleBuilt`).
 */
export async function updateConsole(): Promise<void> {
  const since = Math.floor(Date.now() / 1_000);
  if (await isConsoleStale()) await buildConsole();
  // The folder may belong to another user, or is being replaced: the host checks it again.
  await utimes(join(CONSOLE_FOLDER, CONSOLE_MARK), since, since).catch(() => undefined);
}

/** Where this process builds it. */
export const unfinished = (folder = CONSOLE_FOLDER): string => `${folder}.${process.pid}`;

/**
 * Builds the console, with a compressed copy beside each file, and puts it into place as a whole.
 */
export async function buildConsole(folder = CONSOLE_FOLDER): Promise<void> {
  const digest = await consoleDigest();
  if (digest === undefined) throw new Error(`there are no sources of the console in ${SOURCES}`);
  const aside = unfinished(folder);
  // Always `production`: otherwise the bundle contains React's development checks.
  process.env['NODE_ENV'] = 'production';
  const { build } = await import('vite');
  try {
    await build({
      configFile: join(SOURCES, 'vite.config.ts'),
      build: { outDir: aside },
      define: { BUILD_DIGEST: JSON.stringify(digest), LICENCES: JSON.stringify(await licences()) },
    });
    await writeFile(join(aside, PREVIEW_APP_PAGE), await previewAppPage());
    await writeFile(join(aside, API_VIEWER), await apiViewer());
    await compress(aside);
    await writeFile(join(aside, CONSOLE_MARK), digest);
    await mkdir(dirname(folder), { recursive: true });
    await rm(folder, { recursive: true, force: true });
    await rename(aside, folder).catch(async (error: unknown) => {
      // A concurrent build finished first, with the same result.
      if (await isConsoleStale(folder)) throw error;
    });
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** Dependencies that build the console, and are no part of it. */
const BUILDERS: ReadonlySet<string> = new Set(['esbuild', 'rolldown', 'vite']);

const Package = z.object({
  license: z.string().optional(),
  dependencies: z.record(z.string(), z.string()).default({}),
});

/** The packages in the console and their licences, for its page about the installation. */
async function licences(): Promise<[name: string, licence: string][]> {
  const packageOf = async (folder: string) =>
    Package.parse(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')));
  const { dependencies } = await packageOf(SOURCES);
  return Promise.all(
    Object.keys(dependencies)
      .filter((name) => !BUILDERS.has(name))
      .map(async (name): Promise<[string, string]> => {
        const { license = 'unknown' } = await packageOf(join(ROOT, 'node_modules', name));
        return [name, license];
      }),
  );
}

/**
 * The viewer of the API, a text in the module of Scalar's plugin: the package that has it as a file
 * brings 250 MB along. Its Zod would otherwise try to compile code, which the CSP forbids.
 */
async function apiViewer(): Promise<string> {
  const module = fileURLToPath(import.meta.resolve('@scalar/fastify-api-reference'));
  const [, literal] = /^var standalone_default = (".*");$/m.exec(await readFile(module, 'utf8')) ?? [];
  if (literal === undefined) throw new Error(`${module} does not contain the viewer of the API`);
  return `globalThis.__zod_globalConfig={jitless:true};${String(runInNewContext(literal))}`;
}

/** The page for chat applications: one file, because it is sent as the content of a resource. */
async function previewAppPage(): Promise<string> {
  const { build } = await import('esbuild');
  const folder = join(SOURCES, 'preview-app');
  const page = await readFile(join(folder, 'preview-app.html'), 'utf8');
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'preview-app.ts'), join(folder, 'preview-app.css')],
    outdir: folder,
    bundle: true,
    format: 'esm',
    target: 'es2023',
    charset: 'utf8',
    minify: true,
    write: false,
  });
  const built = (extension: string) =>
    outputFiles.find(({ path }) => path.endsWith(extension))?.text.trim() ?? '';
  return page
    .replace('<style></style>', () => `<style>${built('.css')}</style>`)
    .replace('<script type="module"></script>', () => `<script type="module">${built('.js')}</script>`);
}

/** Above 6, files of megabytes take seconds, and become a tenth smaller. */
function quality({ length }: Buffer): number {
  return length > 1_000_000 ? 6 : 10;
}

async function compress(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    if (!/\.(js|css|html|svg)$/.test(name)) continue;
    const bytes = await readFile(join(folder, name));
    const [smaller, small] = await Promise.all([
      promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality(bytes) } }),
      promisify(gzip)(bytes, { level: 9 }),
    ]);
    await Promise.all([
      writeFile(join(folder, `${name}.br`), smaller),
      writeFile(join(folder, `${name}.gz`), small),
    ]);
  }
}
