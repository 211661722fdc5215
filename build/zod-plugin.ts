import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';
import { ROOT } from './function-entries.ts';

const OBJECT = "import { z } from 'zod';";
const NAMESPACE = "import * as z from 'zod';";

/** Our modules import zod as one object, of which a bundler must keep everything (450 kB); of a namespace it keeps what is used. */
export function zodPlugin(): Plugin {
  const ours = new RegExp(
    `^${ROOT.replace(/[.\\]/g, '\\$&')}/(adapters|constructs|core|handlers|host)/.*\\.ts$`,
  );
  return {
    name: 'zod',
    setup(build) {
      build.onLoad({ filter: ours }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        return { contents: source.replace(OBJECT, NAMESPACE), loader: 'ts' };
      });
    },
  };
}
