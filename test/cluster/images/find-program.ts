import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Every path of a program with that name: on the path first, then in Debian's folders for root's
 * programs.
 */
export function findProgram(name: string, path = process.env['PATH'] ?? ''): string[] {
  const folders = [...path.split(delimiter), '/usr/bin', '/usr/sbin', '/sbin'].filter(Boolean);
  return [...new Set(folders.map((folder) => join(folder, name)))].filter(isRunnable);
}

function isRunnable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
