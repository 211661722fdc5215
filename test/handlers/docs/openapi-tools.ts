/**
 * Linters of OpenAPI documents and generators of clients, in a cache outside the repository.
 * `npm run openapi:install` installs them.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '#test/cluster/fixture/program-cache.ts';
import { installWheels, npm } from '#test/frameworks/framework-cache.ts';
import type { Missing } from '#test/support/suite.ts';

const PACKAGES = {
  '@redocly/cli': '2.77.0',
  '@stoplight/spectral-cli': '6.16.3',
  'openapi-typescript': '7.13.0',
  orval: '8.38.0',
  '@hey-api/openapi-ts': '0.99.0',
  // What the generators write is checked by it.
  typescript: '5.9.3',
};
const WHEELS = 'openapi-python-client==0.29.1\n';
const GO_PROGRAM = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';

const wanted = JSON.stringify([process.platform, process.arch, PACKAGES, WHEELS, GO_PROGRAM]);
const folder = join(
  cacheFolder(),
  `openapi-tools-${createHash('sha256').update(wanted).digest('hex').slice(0, 16)}`,
);

export const openapiToolsMissing: Missing = existsSync(folder)
  ? undefined
  : 'The tools for OpenAPI documents are not in the cache: npm run openapi:install';

/** A program of a package. */
export const npmTool = (name: string): string => join(folder, 'node_modules/.bin', name);
export const pythonOfTools = join(folder, 'venv/bin/python3');
export const goTool = (name: string): string => join(folder, 'go/bin', name);

async function install(): Promise<void> {
  const work = join(cacheFolder(), 'installing-openapi-tools');
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  const manifest = { name: 'openapi-tools', private: true, dependencies: PACKAGES };
  await writeFile(join(work, 'package.json'), JSON.stringify(manifest));
  await writeFile(join(work, 'requirements.txt'), WHEELS);
  await npm(['install', '--ignore-scripts'], work);
  await installWheels(join(work, 'requirements.txt'), work);
  // Where Go's own archive unpacks it.
  const path = [process.env['PATH'] ?? '', '/usr/local/go/bin'].join(delimiter);
  const env = { ...process.env, PATH: path, GOBIN: join(work, 'go/bin'), GOFLAGS: '-mod=mod' };
  await promisify(execFile)('go', ['install', GO_PROGRAM], { cwd: work, env });
  await rename(work, folder);
}

if (import.meta.main && !existsSync(folder)) await install();
