import { dirname } from 'node:path/posix';
import type { Person } from '../callers.ts';
import { runToEnd } from '../processes/collect-command.ts';
import type { SandboxProvider } from '../sandboxes/sandbox-provider.ts';
import type { MountRequest } from './mount-request.ts';
import { type BucketOptions, resolveMount } from './resolve-mount.ts';

export interface BucketCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** A bucket as it is to appear in a sandbox: judged, and complete. */
export interface BucketMount {
  /** Absolute and normal, e.g. `/mnt/data`. */
  readonly mountPath: string;
  readonly bucket: string;
  /** Origin of the S3 server. */
  readonly endpoint: string;
  readonly region?: string | undefined;
  /** What of the bucket is shown: `/`, or a folder that starts and does not end with a slash. */
  readonly prefix: string;
  readonly readOnly: boolean;
  readonly credentials: BucketCredentials;
  /** Options of s3fs, `name` or `name=value`, each one known to be harmless. */
  readonly s3fsOptions: readonly string[];
}

/**
 * Shows buckets in running sandboxes, from outside: no capability and no credential is inside. A
 * mount ends with its sandbox, by `stop`, `destroy` or the end of the host, and is not brought back
 * by `resume`: credentials are kept nowhere.
 */
export interface BucketMounter {
  /**
   * Resolves once files of the bucket can be read and written at the path; on failure nothing is
   * left behind.
   * @throws PortholeError `mount_error` (`mount failed: …`, naming what is missing where it cannot
   * be done), `sandbox_not_running`
   */
  mount(sandboxId: string, mount: BucketMount, signal?: AbortSignal): Promise<void>;

  /** @throws PortholeError `unmount_error` where nothing is mounted at the path */
  unmount(sandboxId: string, mountPath: string, signal?: AbortSignal): Promise<void>;
}

interface MountBucketDeps {
  readonly provider: Pick<SandboxProvider, 'exec'>;
  readonly mounter: BucketMounter;
  readonly buckets: BucketOptions;
}

/**
 * Mounts a bucket in a sandbox. Its folder in /workspace is made by the sandbox itself, with its
 * own rights; elsewhere the mounter sees to it.
 * @throws PortholeError `mount_error`, `forbidden`, `sandbox_not_running`
 */
export async function mountBucket(
  { provider, mounter, buckets }: MountBucketDeps,
  person: Person,
  sandboxId: string,
  request: MountRequest,
  signal?: AbortSignal,
): Promise<void> {
  const mount = resolveMount(request, buckets, person);
  const { mountPath } = mount;
  const isMade = await makeFolder(provider, sandboxId, mountPath, signal);
  try {
    await mounter.mount(sandboxId, mount, signal);
  } catch (error) {
    if (isMade) await removeFolder(provider, sandboxId, mountPath);
    throw error;
  }
}

/**
 * False where it was there, or is not the sandbox's to make. Something runs in any case: it brings
 * back a sandbox that has died.
 */
async function makeFolder(
  provider: Pick<SandboxProvider, 'exec'>,
  sandboxId: string,
  path: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const run = async (...argv: [string, ...string[]]) =>
    (await runToEnd(provider, sandboxId, { argv }, signal)).code === 0;
  if (!isInWorkspace(path)) {
    await run('true');
    return false;
  }
  await run('mkdir', '-p', '--', dirname(path));
  return run('mkdir', '--', path);
}

function isInWorkspace(path: string): boolean {
  return path.startsWith('/workspace/');
}

/** If it is empty. Best effort: what was to be done there is over either way. */
async function removeFolder(
  provider: Pick<SandboxProvider, 'exec'>,
  sandboxId: string,
  path: string,
): Promise<void> {
  await runToEnd(provider, sandboxId, { argv: ['rmdir', '--', path] }).catch(() => {});
}

interface UnmountBucketDeps {
  readonly provider: Pick<SandboxProvider, 'exec'>;
  readonly mounter: BucketMounter;
}

/**
 * Unmounts what is mounted at a path, and removes the folder if it is empty.
 * @throws PortholeError `unmount_error` where nothing is mounted
 */
export async function unmountBucket(
  { provider, mounter }: UnmountBucketDeps,
  sandboxId: string,
  mountPath: string,
  signal?: AbortSignal,
): Promise<void> {
  await mounter.unmount(sandboxId, mountPath, signal);
  if (isInWorkspace(mountPath)) await removeFolder(provider, sandboxId, mountPath);
}
