import { globSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { BundledFunction } from '../../build/bundle-functions.ts';
import { command } from '#test/cluster/fixture/command.ts';
import { oncePerRun } from './once-per-run.ts';

/**
 * The functions as `npm run build` makes them, each in a folder that holds only its listed files,
 * which those with the same files beside their own share: a process loads these once.
 */
export interface BuiltFunctions {
  readonly functions: readonly BundledFunction[];
  /** The content of a listed file. */
  readonly read: (file: string) => string;
  /** Path of a function's module. */
  readonly module: (id: string) => string;
  readonly remove: () => void;
}

const ROOT = join(import.meta.dirname, '../..');
const SOURCES = '{adapters,agent,build,console,constructs,core,guest,handlers,host,proxy}/**/*.*';

/** What `npm run build` has made; undefined if a source has changed since. */
function currentBuild(): string | undefined {
  const folder = join(ROOT, 'dist/functions');
  const builtAt = statSync(join(folder, 'functions.json'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = globSync([SOURCES, 'package-lock.json'], { cwd: ROOT, exclude: ['*/dist/**'] });
  return sources.every((file) => statSync(join(ROOT, file)).mtimeMs < builtAt) ? folder : undefined;
}

/** In the run's folder, where files can be linked. */
async function build(target: string): Promise<void> {
  const current = currentBuild();
  if (current !== undefined) await cp(current, target, { recursive: true });
  else await command([process.execPath, join(ROOT, 'build/main.ts'), target]);
}

export async function builtFunctions(): Promise<BuiltFunctions> {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-functions-'));
  try {
    const all = await oncePerRun('functions', build);
    const functions = JSON.parse(readFileSync(join(all, 'functions.json'), 'utf8')) as BundledFunction[];
    const places = new Map<string, string>();
    const modules = new Map<string, string>();
    for (const { id, file: own, files } of functions) {
      const besides = files.filter((file) => file !== own);
      const key = JSON.stringify(besides.toSorted());
      const known = places.get(key);
      const place = known ?? join(folder, id);
      places.set(key, place);
      modules.set(id, join(place, own));
      // Links: copies would be hundreds of megabytes.
      for (const file of known === undefined ? files : [own]) {
        mkdirSync(dirname(join(place, file)), { recursive: true });
        linkSync(join(all, file), join(place, file));
      }
    }
    return {
      functions,
      read: (file) => readFileSync(join(all, file), 'utf8'),
      module: (id) => modules.get(id) ?? '',
      remove: () => rmSync(folder, { recursive: true }),
    };
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}
