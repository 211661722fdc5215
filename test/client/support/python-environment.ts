/**
 * The Python environment in which the tests of `python/` run, in a cache outside the repository.
 * `node test/client/support/python-environment.ts` installs it.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';
import { installWheels } from '#test/frameworks/framework-cache.ts';
import type { Missing } from '#test/support/suite.ts';

export const PACKAGE = join(import.meta.dirname, '../../../python');
const REQUIREMENTS = join(PACKAGE, 'requirements-test.txt');

const digest = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 16);
const environment = join(cacheFolder(), `python-${process.arch}-${digest}`);

export const python = join(environment, 'venv/bin/python3');

/** What mypy knows of the packages: without it each run reads all of them. */
export const typeCache = join(environment, 'mypy');

export const pythonMissing: Missing = existsSync(python)
  ? undefined
  : 'The packages of the Python tests are not in the cache: npm run python:install';

/** Builds the wheel into a folder; returns the environment in which Python finds what it holds. */
export async function unpackWheel(folder: string): Promise<Readonly<Record<string, string>>> {
  const run = (...args: readonly string[]) => promisify(execFile)(python, ['-m', ...args], { cwd: PACKAGE });
  await run('build', '--wheel', '--no-isolation', '--outdir', folder);
  const wheel = (await readdir(folder)).find((file) => file.endsWith('.whl')) ?? '';
  await run('zipfile', '-e', join(folder, wheel), join(folder, 'wheel'));
  return { PYTHONPATH: join(folder, 'wheel'), PYTHONDONTWRITEBYTECODE: '1' };
}

if (import.meta.main && !existsSync(environment)) {
  const work = join(dirname(environment), 'installing-python');
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  await installWheels(REQUIREMENTS, work);
  await rename(work, environment);
}
