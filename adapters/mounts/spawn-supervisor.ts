import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import { isAlive, type ProcessIdentity } from '#adapters/local/process-identity.ts';
import { SYSTEM_PATH } from '#adapters/local/spawn-sandbox.ts';
import type { BucketMount } from '#core/ports/bucket-mounter.ts';
import { mountFailed } from './mount-failure.ts';
import { s3fsArguments, s3fsEnvironment } from './s3fs-arguments.ts';
import { type SystemCalls, systemCalls } from './system-calls.ts';

/** Seconds until the bucket must be readable: a little more than what s3fs may spend on a server that does not answer. */
const READY_WITHIN = 25;

export interface SupervisorPlan {
  readonly script: string;
  /** What the script is told first. */
  readonly args: (calls: SystemCalls) => readonly string[];
  /** Lives in the namespaces. */
  readonly holder: ProcessIdentity;
  /** Those that the script finds open, from descriptor 3 on. */
  readonly namespaces: readonly ('user' | 'mnt')[];
  /** Runs as this user; undefined: the host's own. */
  readonly owner?: number | undefined;
}

/**
 * Starts perl as a keeper: its script, and s3fs for a bucket. The keys go by environment.
 * @throws PortholeError `mount_error`
 */
export async function spawnSupervisor(
  { script, args, holder, namespaces, owner }: SupervisorPlan,
  name: string,
  mount?: BucketMount,
): Promise<ChildProcess> {
  const calls = systemCalls(process.arch);
  if (calls === undefined) throw mountFailed(`buckets cannot be mounted on a ${process.arch} machine`);
  const opened: FileHandle[] = [];
  try {
    for (const kind of namespaces) opened.push(await open(`/proc/${holder.pid}/ns/${kind}`));
    // Open now, they are of whoever has the pid: the holder, as long as it still lives.
    if (!isAlive(holder)) throw mountFailed('the sandbox has just ended');
    const s3fs = mount === undefined ? [] : s3fsArguments(mount, name);
    const child = spawn('perl', ['-e', script, ...args(calls), String(READY_WITHIN), ...s3fs], {
      ...(owner === undefined ? {} : { uid: owner, gid: owner }),
      cwd: '/',
      env: {
        ...SYSTEM_PATH,
        HOME: '/nonexistent',
        ...(mount === undefined ? {} : s3fsEnvironment(mount)),
      },
      stdio: ['pipe', 'pipe', 'pipe', ...opened.map(({ fd }) => fd)],
    });
    await once(child, 'spawn').catch((cause: unknown) => {
      throw mountFailed('perl is not installed on the host (apt-get install perl-base)', cause);
    });
    return child;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw mountFailed('the sandbox has just ended', error);
  } finally {
    await Promise.all(opened.map((handle) => handle.close()));
  }
}
