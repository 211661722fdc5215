import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { setConsoleBuild } from '#handlers/console/console-build.ts';
import type { Logger } from '#handlers/services.ts';

const BUILDER = join(import.meta.dirname, '../build/console.ts');
/** It takes seconds; one that hangs must not be there for ever. In milliseconds. */
const LONGEST_MS = 300_000;
/** Characters of the builder's words that are kept: its last ones say what was wrong. */
const MOST_WORDS = 2_000;

/**
 * Builds the console beside the host, where its build is missing or stale, at the lowest priority: the API does not wait for it. Pages say how it stands. An installation without the
 * sources has its build already. Returns what ends it.
 */
export function keepConsoleBuilt(log: Logger): () => void {
  if (!existsSync(BUILDER)) return () => undefined;
  setConsoleBuild({ state: 'under way' });
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', BUILDER], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: LONGEST_MS,
  });
  let words = '';
  let ended = false;
  const failed = (why: string) => {
    if (ended) return;
    setConsoleBuild({ state: 'failed', words: why });
    log.warn({ words: why }, 'console not built: npm run build says why');
  };
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + stripVTControlCharacters(chunk.toString())).slice(-MOST_WORDS);
  });
  child.once('spawn', () => {
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  });
  child.once('error', (error) => failed(error.message));
  child.once('close', (code, signal) => {
    if (code === 0) setConsoleBuild({ state: 'none' });
    else failed(signal === null ? words.trim() : `It was ended by ${signal}. ${words}`.trim());
  });
  child.unref();
  return () => {
    ended = true;
    child.kill();
  };
}
