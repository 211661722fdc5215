import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import * as fc from 'fast-check';

const GENERATORS = JSON.parse(
  readFileSync(join(import.meta.dirname, 'generator-ignores.json'), 'utf8'),
) as Readonly<Record<string, readonly string[]>>;

/** Content of each file of a folder, by its path. */
export type Files = Readonly<Record<string, string>>;

/** Folders as generators make them, with a file or a folder for each line of `.gitignore`. */
export const GENERATED: readonly (readonly [string, Files])[] = Object.entries(GENERATORS).map(
  ([name, lines]) => [name, { ...pathsOf(lines), '.gitignore': lines.join('\n') }],
);

/** Names that the lines match, and names that are alike. */
function pathsOf(lines: readonly string[]): Files {
  const names = lines.flatMap((line) => {
    const name = line
      .replaceAll(/^!|\\/g, '')
      .replaceAll('**', 'any/depth')
      .replaceAll(/\[(.)[^\]]*\]/g, '$1')
      .replaceAll('*', 'x1')
      .replaceAll('?', 'q')
      .split('/')
      .filter((part) => part !== '' && part !== '.')
      .join('/');
    return name === '' ? [] : [name];
  });
  const below = (folder: string, end: string) => names.map((name) => `${folder}${name}${end}`);
  return filesAt([...below('', '/file'), ...below('app/', ''), ...below('A/', 'x'), ...below('.x/y/', '/z')]);
}

/** Empty files at the paths that can exist beside each other. */
function filesAt(paths: readonly string[]): Files {
  const files: Record<string, string> = {};
  for (const path of paths) if (isFree(files, path)) files[path] = '';
  return files;
}

const name = fc.constantFrom('a', 'b', 'ab', 'b.x', '.x', 'A', 'a b', '[a]', 'a-b');
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
const glob = fc.constantFrom(
  'a',
  'b',
  'b.x',
  '*',
  '*.x',
  '?',
  '[ab]',
  '[!a]',
  'a-*',
  '\\[a]',
  '[a-b]b',
  'a\\ b',
  '**',
);
const line = fc
  .tuple(
    fc.constantFrom('', '', '!'),
    fc.constantFrom('', '', '/'),
    fc.array(glob, { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', '', '/'),
  )
  // git and the libraries differ in what `**/` includes at the end.
  .filter(([, , globs, end]) => globs.at(-1) !== '**' || end === '')
  .map(([mark, start, globs, end]) => `${mark}${start}${globs.join('/')}${end}`);
const text = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 4 }), fc.constantFrom('\n', '\r\n'))
  .map(([lines, end]) => lines.join(end));

/** Folders with ignore files at any depth. */
export const folders: fc.Arbitrary<Files> = fc
  .tuple(
    fc.uniqueArray(path, { minLength: 3, maxLength: 14 }),
    fc.array(fc.tuple(path, text), { maxLength: 3 }),
    text,
  )
  .map(([paths, ignores, root]) => {
    const files: Record<string, string> = { ...filesAt(paths), '.gitignore': root };
    for (const [folder, lines] of ignores)
      if (isFree(files, `${folder}/.gitignore`)) files[`${folder}/.gitignore`] = lines;
    return files;
  });

/** Whether a path can be made: no file is a folder of another. */
function isFree(files: Files, path: string): boolean {
  return !Object.keys(files).some(
    (each) => each === path || path.startsWith(`${each}/`) || each.startsWith(`${path}/`),
  );
}

/** Makes a folder, calls `use` with it, and removes it. */
export async function withFolder<T>(files: Files, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'porthole-ignore-'));
  try {
    for (const [file, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), content);
    }
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** What git lists, without the settings of the user. */
export async function listedByGit(folder: string): Promise<readonly string[]> {
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, '.git'),
    GIT_CONFIG_NOSYSTEM: '1',
  };
  const git = (...args: readonly string[]) => promisify(execFile)('git', args, { cwd: folder, env });
  await git('init', '--quiet', '--template=');
  const { stdout } = await git('ls-files', '--others', '--cached', '--exclude-standard', '-z');
  return stdout.split('\0').filter(Boolean).toSorted();
}
