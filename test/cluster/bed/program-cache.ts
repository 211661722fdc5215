import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Program } from './programs.ts';

/** Where built programs are kept: `PORTHOLE_CACHE_DIR`, else `porthole` in the user's cache folder. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  const own = env['PORTHOLE_CACHE_DIR'];
  if (own) return resolve(own);
  const user = env['XDG_CACHE_HOME'];
  return join(user ? resolve(user) : join(homedir(), '.cache'), 'porthole');
}

/** The folder that holds every program, which the bed sees as one. */
export function programsFolder(cache: string): string {
  return join(cache, 'programs');
}

/** Name of the folder of one build: the program's name and a digest of all that the build comes from. */
export function buildName(program: Program): string {
  const digest = createHash('sha256');
  const { folder, ...settings } = program;
  digest.update(JSON.stringify([process.platform, process.arch, settings]));
  for (const file of readdirSync(folder).toSorted()) {
    digest.update(JSON.stringify([file, readFileSync(join(folder, file), 'utf8')]));
  }
  return `${program.name}-${digest.digest('hex').slice(0, 16)}`;
}

/** A build appears in the cache under its name in one step, so what is there is whole. */
export function isBuilt(program: Program, cache: string): boolean {
  return existsSync(join(programsFolder(cache), buildName(program)));
}
