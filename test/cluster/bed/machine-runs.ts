import { existsSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import type { Report } from './build-program.ts';
import { LOG_FOLDER, type MachineStatus, STATUS_FILE } from './machine-plan.ts';
import { isCarried } from './machine-processes.ts';

/** Milliseconds after which a machine that reports neither success nor failure is given up. */
const PATIENCE_MS = 180_000;

export function readStatus(runFolder: string): MachineStatus | undefined {
  const file = join(runFolder, STATUS_FILE);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as MachineStatus) : undefined;
}

/** Resolves when the machine says that all its components run; throws with its own words when it fails or ends. */
export async function machineRuns(runFolder: string, report: Report): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const reported = new Set<string>();
  const look = (): void => {
    const status = readStatus(runFolder);
    for (const name of status?.ready ?? []) {
      if (!reported.has(name)) report(`  ${name}`);
      reported.add(name);
    }
    if (status?.phase === 'running') resolve();
    if (status?.phase === 'failed')
      reject(new Error(`${status.problem}\nlogs: ${join(runFolder, LOG_FOLDER)}`));
  };
  report('starting the components');
  const watcher = watch(runFolder, look);
  // Nothing writes a status when the machine itself is ended.
  const pulse = setInterval(() => {
    if (!isCarried(runFolder))
      reject(new Error(`the machine has ended; logs: ${join(runFolder, LOG_FOLDER)}`));
  }, 1_000);
  const patience = setTimeout(
    () => reject(new Error(`the components do not run after ${PATIENCE_MS / 1_000} s`)),
    PATIENCE_MS,
  );
  try {
    look();
    await promise;
  } finally {
    watcher.close();
    clearInterval(pulse);
    clearTimeout(patience);
  }
}
