/** `npm start`: Porthole on this machine. JavaScript: stripping types takes memory and time. */
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
