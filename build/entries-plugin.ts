import type { Plugin } from 'esbuild';
import { type FunctionEntry, ROOT } from './function-entries.ts';

const PREFIX = 'function:';

/** How an entry is named to esbuild. */
export function entryPoint({ id }: FunctionEntry): string {
  return `${PREFIX}${id}`;
}

/** Gives esbuild the sources of the entries, which stand in no file. */
export function entriesPlugin(entries: readonly FunctionEntry[]): Plugin {
  const sources = new Map(entries.map((entry) => [entryPoint(entry), entry.source]));
  return {
    name: 'entries',
    setup(build) {
      build.onResolve({ filter: new RegExp(`^${PREFIX}`) }, ({ path }) => ({ path, namespace: PREFIX }));
      build.onLoad({ filter: /./, namespace: PREFIX }, ({ path }) => ({
        contents: sources.get(path) ?? '',
        resolveDir: ROOT,
        loader: 'ts',
      }));
    },
  };
}
