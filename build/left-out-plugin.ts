import { join } from 'node:path';
import type { Plugin } from 'esbuild';
import { ROOT } from './function-entries.ts';

/** What a function refuses by its configuration, so that none needs to carry it. */
export const ONE_MACHINE = [
  'host/local-platform.ts',
  'host/docker-platform.ts',
  'adapters/sql/sqlite/open-sqlite-records.ts',
];
/** All routes at once, which only the functions of the documentation describe. */
export const DOCUMENTATION = ['handlers/docs/openapi-document.ts', 'handlers/routes.ts'];

/** Puts an error in the place of modules that a function never loads. A static import of one fails the build. */
export function leftOutPlugin(files: readonly string[]): Plugin {
  return {
    name: 'left-out',
    setup(build) {
      const paths = files.map((file) => join(ROOT, file).replace(/[.\\]/g, '\\$&'));
      build.onLoad({ filter: new RegExp(`^(${paths.join('|')})$`) }, ({ path }) => {
        const name = path.slice(ROOT.length + 1);
        return { contents: `throw new Error('${name} is not part of this function');`, loader: 'js' };
      });
    },
  };
}
