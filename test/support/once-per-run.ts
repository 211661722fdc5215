import { existsSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The path of what `make` writes, in the run's own temporary folder (`test/run.ts`), so that suites
 * share it: sources do not change during a run. Not to be changed. Two suites at the same time may
 * both make it; one of them is kept.
 */
export async function oncePerRun(name: string, make: (target: string) => Promise<unknown>): Promise<string> {
  const path = join(tmpdir(), `porthole-run-${name}`);
  if (existsSync(path)) return path;
  const fresh = `${path}.${process.pid}`;
  try {
    await make(fresh);
    await rename(fresh, path);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(path)) throw error;
  }
  return path;
}
