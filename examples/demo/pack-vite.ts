import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';

const ROOT = join(import.meta.dirname, '../..');

/**
 * The folders of Vite and its dependencies, relative to the repository: `dependencies`, and those
 * `optionalDependencies` (native parts for each platform) that npm has installed for this one.
 * Undefined if Vite is not installed.
 */
export function viteFolders(): string[] | undefined {
  const found = new Set<string>();
  const visit = (name: string, from: string, optional: boolean): void => {
    const folder = findPackage(name, from);
    if (folder === undefined) {
      if (optional) return;
      throw new Error(`${name}, which Vite needs, is not installed: run npm ci.`);
    }
    if (found.has(folder)) return;
    found.add(folder);
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    ) as Record<'dependencies' | 'optionalDependencies', Record<string, string> | undefined>;
    for (const each of Object.keys(dependencies)) visit(each, folder, each in optionalDependencies);
    for (const each of Object.keys(optionalDependencies)) visit(each, folder, true);
  };
  visit('vite', ROOT, true);
  return found.size === 0 ? undefined : [...found].map((folder) => relative(ROOT, folder));
}

/** Node's lookup of a package: in `node_modules` of the folder, then of each parent. */
function findPackage(name: string, from: string): string | undefined {
  for (let folder = from; folder.startsWith(ROOT); folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
  }
  return undefined;
}

/** Those folders, and the `vite` command, as one gzipped tar: about 15 MB of `node_modules/…`. */
export async function packVite(folders: readonly string[], signal?: AbortSignal): Promise<Buffer> {
  const tar = spawn('tar', ['-C', ROOT, '-cf', '-', 'node_modules/.bin/vite', ...folders], {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  });
  const exit = once(tar, 'exit');
  // The fastest level: it takes a third of the default's time, and a tenth more size does not
  // matter on loopback.
  const [packed, [code]] = await Promise.all([buffer(tar.stdout.pipe(createGzip({ level: 1 }))), exit]);
  if (code !== 0) throw new Error(`tar ended with ${String(code)} while it packed Vite.`);
  return packed;
}
