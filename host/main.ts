/** `npm start`: Porthole on this machine. */
import { enableCompileCache } from 'node:module';
import { builtHost } from './built-host.ts';

enableCompileCache();
const began = performance.now();
const { run } = (await import(builtHost() ?? './run.ts')) as typeof import('./run.ts');
await run(began);
