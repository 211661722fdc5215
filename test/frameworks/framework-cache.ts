/**
 * Packages of the frameworks, in a cache outside the repository. `node
 * test/frameworks/framework-cache.ts` installs those of the core, `… all` or `… django next`
 * installs others.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';
import type { Missing } from '#test/support/suite.ts';
import { type Framework, selectFrameworks } from './framework-table.ts';

const run = promisify(execFile);

export const PROJECTS = join(import.meta.dirname, 'projects');

/**
 * npm resolves indirect dependencies as of this day, so that all machines install the same
 * versions.
 */
const PUBLISHED_BEFORE = '2026-11-15';

/** The interpreter that sandboxes see: of the host, they see only `/usr`. */
const PYTHON = '/usr/bin/python3';

type Kind = 'npm' | 'python';

function manifest(project: string): { readonly kind: Kind; readonly file: string } {
  const file = join(PROJECTS, project, 'requirements.txt');
  return existsSync(file)
    ? { kind: 'python', file }
    : { kind: 'npm', file: join(PROJECTS, project, 'package.json') };
}

/**
 * The folder in the cache: the project's name and a digest of everything that determines its
 * content.
 */
export function packagesFolder(project: string): string {
  const { kind, file } = manifest(project);
  const text = readFileSync(file, 'utf8');
  const wanted = kind === 'npm' ? [JSON.parse(text), PUBLISHED_BEFORE] : text;
  const inputs = [process.platform, process.arch, wanted];
  const digest = createHash('sha256').update(JSON.stringify(inputs)).digest('hex');
  return join(cacheFolder(), 'frameworks', `${project}-${digest.slice(0, 16)}`);
}

export function packagesMissing(framework: Framework): Missing {
  return existsSync(packagesFolder(framework.project))
    ? undefined
    : `${framework.name} is not in the cache: npm run frameworks:install ${framework.project}`;
}

/**
 * Installs into a temporary folder, then renames it, so that a folder in the cache is always
 * complete.
 */
async function install({ project, nativeBuild }: Framework): Promise<void> {
  const target = packagesFolder(project);
  if (existsSync(target)) return;
  const began = performance.now();
  const work = join(dirname(target), `installing-${project}`);
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  const { kind, file } = manifest(project);
  if (kind === 'python') await installWheels(file, work);
  else {
    await copyFile(file, join(work, 'package.json'));
    await npm(['install', '--ignore-scripts', `--before=${PUBLISHED_BEFORE}`], work);
    if (nativeBuild !== undefined) {
      const folder = join(work, nativeBuild.folder);
      await npm(['install', '--ignore-scripts', '--omit=dev'], folder);
      await npm(['rebuild', ...nativeBuild.modules], folder);
    }
  }
  await rename(work, target);
  process.stdout.write(`${project}: installed in ${((performance.now() - began) / 1_000).toFixed(0)} s\n`);
}

/**
 * A virtual environment of the interpreter that sandboxes see. It works in any folder: only its
 * scripts contain its path.
 */
export async function installWheels(requirements: string, work: string): Promise<void> {
  const environment = join(work, 'venv');
  await run(PYTHON, ['-m', 'venv', '--without-pip', environment]);
  const into = ['-m', 'pip', '--python', join(environment, 'bin/python3'), 'install', '--quiet'];
  await run('python3', [...into, '--only-binary=:all:', '--requirement', requirements]);
}

/** npm on this Node: packages are selected and compiled for the Node that runs them. */
export async function npm(args: readonly string[], cwd: string): Promise<void> {
  const bin = dirname(process.execPath);
  const env = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}`,
    // The headers for compiling native modules.
    npm_config_nodedir: dirname(bin),
  };
  await run('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd, env });
}

if (import.meta.main) {
  for (const framework of selectFrameworks(process.argv.slice(2))) await install(framework);
}
