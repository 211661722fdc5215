/** `npm start`: Porthole on this machine. */
import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { builtHost } from './built-host.ts';

// The user's own folder, not the default below /tmp: other users could put code there.
const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
enableCompileCache(process.env['NODE_COMPILE_CACHE'] ?? join(cache, 'porthole/compiled'));
const began = performance.now();
const { run } = (await import(builtHost() ?? './run.ts')) as typeof import('./run.ts');
await run(began);
