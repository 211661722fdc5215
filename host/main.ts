/** `npm start`: Porthole on this machine. */
import { enableCompileCache } from 'node:module';

enableCompileCache();
const began = performance.now();
const { run } = await import('./run.ts');
await run(began);
