import { join } from 'node:path';
import type { Plugin } from 'esbuild';
import { ROOT } from './function-entries.ts';

/** What a function refuses by its configuration, so that none needs to carry it. */
const LEFT_OUT = ['host/local-platform.ts', 'adapters/sql/sqlite/open-sqlite-records.ts'];

/** Puts an error in the place of modules that no function ever loads. A static import of one fails the build. */
export function leftOutPlugin(): Plugin {
  return {
    name: 'left-out',
    setup(build) {
      const paths = LEFT_OUT.map((file) => join(ROOT, file).replace(/[.\\]/g, '\\$&'));
      build.onLoad({ filter: new RegExp(`^(${paths.join('|')})$`) }, ({ path }) => {
        const name = path.slice(ROOT.length + 1);
        return { contents: `throw new Error('${name} is not part of functions');`, loader: 'js' };
      });
    },
  };
}
