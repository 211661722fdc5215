import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

const LOADER = 'const body = loadurl(urlOrFile);';
const READER = "const body = fs.readFileSync(urlOrFile, 'utf8');";

/** cdk8s reads a YAML file, such as a kubeconfig, by a program of its own, which stands in a file that no bundle has. A bundle reads the file. */
export function yamlPlugin(): Plugin {
  return {
    name: 'yaml',
    setup(build) {
      build.onLoad({ filter: /[\\/]cdk8s[\\/]lib[\\/]yaml\.js$/ }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        if (!source.includes(LOADER)) throw new Error(`${path} has changed: it no longer has \`${LOADER}\``);
        return { contents: source.replace(LOADER, READER), loader: 'js' };
      });
    },
  };
}
