import { accessSync, constants } from 'node:fs';
import { delimiter, resolve } from 'node:path';

/** The first installed program of these names or paths; `before` are folders before PATH. */
export function findProgram(names: readonly string[], before: readonly string[] = []): string | undefined {
  const folders = [...before, ...(process.env['PATH'] ?? '').split(delimiter)];
  const files = names.flatMap((name) =>
    name.includes('/') ? [resolve(name)] : folders.map((folder) => resolve(folder, name)),
  );
  return files.find(isExecutable);
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
