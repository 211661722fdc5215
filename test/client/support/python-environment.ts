/**
 * The Python environment in which the tests of `python/` run, in a cache outside the repository.
 * `node test/client/support/python-environment.ts` installs it.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
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

if (import.meta.main && !existsSync(environment)) {
  const work = join(dirname(environment), 'installing-python');
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  await installWheels(REQUIREMENTS, work);
  await rename(work, environment);
}
