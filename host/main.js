/**
 * `npm start`: Porthole on this machine. JavaScript: Node.js strips types with a program that takes
 * 11 MB and 40 ms, unless the compile cache has the result.
 */
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

const began = performance.now();
// The user's own folder, not the default below /tmp: other users could put code there.
const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
enableCompileCache(process.env['NODE_COMPILE_CACHE'] ?? join(cache, 'porthole/compiled'));
const { builtHost } = await import('./built-host.ts');
const { run } = await import(builtHost() ?? './run.ts');
await run(began);
