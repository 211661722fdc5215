import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { oncePerRun } from './once-per-run.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Packages that `npm install` would install as well. */
const DEPENDENCIES = ['@pulumi', 'cdk8s', 'cdk8s-plus-28', 'constructs', 'yaml', 'zod', 'typescript'];

const run = promisify(execFile);

/** A new folder outside the repository, with the files that `npm publish` would upload. */
export async function installPacked(folders: readonly string[]): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'porthole-packages-'));
  await writeFile(join(place, 'package.json'), '{"type": "module"}');
  for (const folder of folders) await install(folder, place);
  for (const name of DEPENDENCIES) {
    await symlink(join(ROOT, 'node_modules', name), join(place, 'node_modules', name));
  }
  return place;
}

async function install(folder: string, place: string): Promise<void> {
  const packed = await oncePerRun(`packed-${folder}`, async (target) => {
    await mkdir(target);
    await run('npm', ['pack', '--silent', '--pack-destination', target], { cwd: join(ROOT, folder) });
  });
  const [tarball = ''] = await readdir(packed);
  const { name } = JSON.parse(await readFile(join(ROOT, folder, 'package.json'), 'utf8')) as { name: string };
  const target = join(place, 'node_modules', name);
  await mkdir(target, { recursive: true });
  await run('tar', ['xzf', join(packed, tarball), '--strip-components=1', '-C', target]);
}

/** Copies a program to `target` in that folder, where it imports the package by its name. */
export async function copyProgram(
  source: string,
  { place, target, name }: { readonly place: string; readonly target: string; readonly name: string },
): Promise<string> {
  const text = await readFile(source, 'utf8');
  const file = join(place, target);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text.replace(/'(?:\.\.\/)+(?:infra|constructs)\/index\.ts'/, `'${name}'`));
  return file;
}
