import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '#handlers/services.ts';

const BUILDER = join(import.meta.dirname, '../build/console.ts');
/** It takes seconds; one that hangs must not be there for ever. In milliseconds. */
const LONGEST_MS = 300_000;

/**
 * Builds the console beside the host, where its build is missing or stale, at the lowest priority: the API does not wait for it. An installation without the sources has its
 * build already. Returns what ends it.
 */
export function keepConsoleBuilt(log: Logger): () => void {
  if (!existsSync(BUILDER)) return () => undefined;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', BUILDER], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LONGEST_MS,
  });
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString()).slice(-2_000);
  });
  child.once('spawn', () => {
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  });
  child.once('error', (err) => log.warn({ err }, 'console not built'));
  child.once('exit', (code, signal) => {
    if (code !== 0 && signal === null) {
      log.warn({ code, words }, 'console not built: npm run build says why');
    }
  });
  child.unref();
  return () => void child.kill();
}
