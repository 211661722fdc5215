import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BundledFunction } from '../../build/bundle-functions.ts';
import { command } from '#test/cluster/fixture/command.ts';

/**
 * The functions as `npm run build` makes them, each in a separate folder that holds only the listed
 * files.
 */
export interface BuiltFunctions {
  readonly functions: readonly BundledFunction[];
  /** Path of a function's module. */
  readonly module: (id: string) => string;
  readonly remove: () => void;
}

const MAIN = join(import.meta.dirname, '../../build/main.ts');

export async function builtFunctions(): Promise<BuiltFunctions> {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-functions-'));
  try {
    const all = join(folder, 'all');
    await command([process.execPath, MAIN, all]);
    const functions = JSON.parse(readFileSync(join(all, 'functions.json'), 'utf8')) as BundledFunction[];
    for (const { id, files } of functions) {
      for (const file of files) cpSync(join(all, file), join(folder, id, file));
    }
    return {
      functions,
      module: (id) => join(folder, id, `${id}.mjs`),
      remove: () => rmSync(folder, { recursive: true }),
    };
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}
