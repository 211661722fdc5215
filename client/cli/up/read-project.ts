import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { UsageError } from '../command.ts';
import { FILES_TO_READ, type Project, workspaceFolders } from './find-command.ts';

/** Folders with an index.html to serve. */
const STATIC_FOLDERS = ['public', 'dist', 'build'];

/**
 * Reads what `findCommand` needs from a folder.
 * @throws UsageError if it is not a folder
 */
export async function readProject(folder: string): Promise<Project> {
  const names = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${folder} is not a folder that can be read (${error.code ?? error.message}).`);
  });
  const files = new Set(names.filter((each) => !each.isDirectory()).map(({ name }) => name));
  const texts = new Map<string, string>();
  const read = async (path: string): Promise<void> => {
    const text = await readFile(join(folder, path), 'utf8').catch(() => undefined);
    if (text === undefined) return;
    files.add(path);
    texts.set(path, text);
  };
  await Promise.all(FILES_TO_READ.map(read));
  for (const each of STATIC_FOLDERS) {
    const inside = await readdir(join(folder, each)).catch((): string[] => []);
    if (inside.includes('index.html')) files.add(`${each}/index.html`);
  }
  for (const path of ['src/main.rs', 'bin/rails']) if (existsSync(join(folder, path))) files.add(path);
  for (const pattern of workspaceFolders(texts)) {
    const parent = pattern.replace(/\/\*$/, '');
    const inside = parent === pattern ? [''] : await readdir(join(folder, parent)).catch((): string[] => []);
    await Promise.all(inside.map((name) => read(posix.join(parent, name, 'package.json'))));
  }
  return { files, texts };
}
