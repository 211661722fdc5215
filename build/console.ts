/**
 * `node build/console.ts`: builds the console where its build is missing or of other sources. Ends
 * with the host that has started it, also if that is killed.
 */
import { rmSync } from 'node:fs';
import { unfinished, updateConsole } from './build-console.ts';

function end(): void {
  rmSync(unfinished(), { recursive: true, force: true });
  process.exit(1);
}

process.once('SIGTERM', end);
process.once('disconnect', end);
// A build that has finished does not wait for the host.
process.channel?.unref();
await updateConsole();
