import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * Every place where a program of that name stands: on the path first, then where Debian keeps what
 * only root needs.
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
