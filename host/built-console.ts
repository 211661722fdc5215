import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CONSOLE_FOLDER, CONSOLE_MARK, CONSOLE_SOURCES } from '#handlers/console/console-folder.ts';

const ROOT = join(import.meta.dirname, '..');

/**
 * Whether no source of the console has changed since its build. A source that was replaced or
 * removed has changed its folder. True in an installation without the sources: it has its build.
 */
export function isConsoleBuilt(root = ROOT, mark = join(CONSOLE_FOLDER, CONSOLE_MARK)): boolean {
  if (!existsSync(join(root, 'build/build-console.ts'))) return true;
  try {
    const builtAt = statSync(mark).mtimeMs;
    const paths = CONSOLE_SOURCES.flatMap((each) => within(join(root, each)));
    // Not the time of modification, which copies can keep.
    return paths.every((path) => statSync(path).ctimeMs < builtAt);
  } catch {
    return false;
  }
}

/** The path itself and, of a folder, everything in it. */
function within(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return [path, ...readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name))];
}
