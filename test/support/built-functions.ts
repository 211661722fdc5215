import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

const MAIN = join(import.meta.dirname, '../../build/main.ts');

export async function builtFunctions(): Promise<BuiltFunctions> {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-functions-'));
  try {
    const all = await oncePerRun('functions', (target) => command([process.execPath, MAIN, target]));
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
