/**
 * `node build/console.ts`: builds the console where its build is missing or of other sources. Ends
 * with the host that has started it, also if that is killed.
 */
import { rmSync } from 'node:fs';
import { unfinished, updateConsole } from './build-console.ts';

// Threads of the build may still write.
const clean = () => rmSync(unfinished(), { recursive: true, force: true, maxRetries: 3 });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    clean();
    // The host sees which signal has ended it.
    process.kill(process.pid, signal);
  });
}
process.once('disconnect', () => {
  clean();
  process.exit(1);
});
// A build that has finished does not wait for the host.
process.channel?.unref();
await updateConsole();
