import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';

/** A program's file, or the exit code and the reason a shell would give: 127 not found, 126 not executable. */
export type Found = { readonly file: string } | { readonly code: 126 | 127; readonly reason: string };

/** Looks a program up as execvp would, from `cwd` and on `path`, so that pipes and terminals fail alike. */
export function findProgram(name: string, path: string, cwd: string): Found {
  try {
    if (!statSync(cwd).isDirectory()) return { code: 126, reason: `${cwd}: not a directory` };
    accessSync(cwd, constants.X_OK);
  } catch {
    return { code: 126, reason: `${cwd}: no such directory, or it cannot be entered` };
  }
  const candidates = name.includes('/')
    ? [name.startsWith('/') ? name : join(cwd, name)]
    : path.split(':').map((folder) => join(folder === '' ? cwd : folder, name));
  let there = false;
  for (const file of candidates) {
    try {
      const isFile = statSync(file).isFile();
      there = true;
      if (!isFile) continue;
      accessSync(file, constants.X_OK);
      return { file };
    } catch {
      // Not there, or not for us: the next folder may have it.
    }
  }
  return there && name !== ''
    ? { code: 126, reason: `${name}: not executable` }
    : { code: 127, reason: `${name}: not found` };
}
