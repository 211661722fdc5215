/**
 * The frameworks of `integrations`, in a cache outside the repository. `npm run
 * integrations:install` installs them.
 */
import { cp, mkdir, mkdtemp, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { NpmCache } from '#test/support/npm-cache.ts';
import { buildPackage } from '../../build/build-packages.ts';

export const ROOT = join(import.meta.dirname, '../..');

export const FRAMEWORKS = {
  ai: '7.0.173',
  'bash-tool': '1.3.19',
  computesdk: '4.1.4',
  '@computesdk/provider': '2.1.5',
  deepagents: '1.14.1',
  langchain: '1.5.14',
  '@tanstack/ai': '0.42.0',
  '@tanstack/ai-sandbox': '0.2.4',
  '@ai-sdk/openai': '4.0.118',
  '@langchain/openai': '1.6.0',
  zod: '4.6.7',
};

const cache = new NpmCache('integrations', FRAMEWORKS);

export const integrationsMissing = cache.missing;

/** A new project with the frameworks, our client and the adapters, as users install them. */
export async function integrationProject(folder: string): Promise<string> {
  const project = await mkdtemp(join(folder, 'integrations-'));
  const modules = join(project, 'node_modules');
  await mkdir(modules);
  for (const name of await readdir(cache.modules)) {
    if (name !== '@types') await symlink(join(cache.modules, name), join(modules, name));
  }
  for (const name of ['ignore', 'uqr', 'ws', '@types']) {
    await symlink(join(ROOT, 'node_modules', name), join(modules, name)).catch(ignoreExisting);
  }
  for (const name of ['client', 'integrations'] as const) {
    const target = join(modules, '@porthole', name);
    await mkdir(target, { recursive: true });
    await cp(join(ROOT, name, 'package.json'), join(target, 'package.json'));
    await buildPackage(name, join(target, 'dist'));
  }
  await writeFile(join(project, 'package.json'), '{"type": "module"}');
  return project;
}

/** The frameworks may have it, too. */
function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/** Writes a program into the project, where it imports packages by their names. */
export async function writeProgram(project: string, name: string, code: string): Promise<string> {
  const file = join(project, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, code);
  return file;
}

if (import.meta.main) await cache.install();
