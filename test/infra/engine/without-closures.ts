/**
 * Preloaded into Pulumi programs: leaves out what serializes functions, maps stacks to sources and
 * starts the command line. Our programs use none of it, and it takes a third of their time.
 */
import { createRequire, Module } from 'node:module';

const require = createRequire(import.meta.url);
const pulumi = createRequire(require.resolve('@pulumi/pulumi'));

const UNUSED: Readonly<Record<string, object>> = {
  'source-map-support/register': {},
  './automation/index.js': {},
  './runtime/closure/codePaths.js': {},
  './runtime/closure/v8Hooks.js': { isInitializedAsync: () => Promise.resolve() },
};

for (const [name, exports] of Object.entries(UNUSED)) {
  const path = pulumi.resolve(name);
  require.cache[path] = Object.assign(new Module(path), { exports, loaded: true });
}
