import { dirname } from 'node:path/posix';
import type { Person } from '../callers.ts';
import { runToEnd } from '../processes/collect-command.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import type { MountRequest } from './mount-request.ts';
import { type BucketOptions, resolveMount } from './resolve-mount.ts';

export interface BucketCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** A validated, complete mount of a bucket. */
export interface BucketMount {
  /** Absolute and normalised, e.g. `/mnt/data`. */
  readonly mountPath: string;
  readonly bucket: string;
  /** Origin of the S3 server. */
  readonly endpoint: string;
  readonly region?: string | undefined;
  /** The mounted part of the bucket: `/`, or a folder with a leading and no trailing slash. */
  readonly prefix: string;
  readonly readOnly: boolean;
  readonly credentials: BucketCredentials;
  /** Options of s3fs, `name` or `name=value`, each on the allow list. */
  readonly s3fsOptions: readonly string[];
}

/**
 * Mounts buckets in running sandboxes, from outside: the sandbox has neither a capability nor a
 * credential. A mount ends with its sandbox, by `stop`, `destroy` or the end of the host. `resume`
 * does not restore it, because credentials are not stored.
 */
export interface BucketMounter {
  /**
   * Resolves once files of the bucket can be read and written at the path; a failure leaves nothing
   * behind.
   * @throws PortholeError `mount_error` (`mount failed: …`, naming what is missing if mounts are
   * not supported), `sandbox_not_running`
   */
  mount(sandboxId: string, mount: BucketMount, signal?: AbortSignal): Promise<void>;

  /** @throws PortholeError `unmount_error` where nothing is mounted at the path */
  unmount(sandboxId: string, mountPath: string, signal?: AbortSignal): Promise<void>;
}

interface MountBucketDeps {
  readonly sandboxes: Pick<Sandboxes, 'exec'>;
  readonly mounter: BucketMounter;
  readonly buckets: BucketOptions;
}

/**
 * Mounts a bucket in a sandbox. The sandbox itself creates the mount point in /workspace, with its
 * own rights; elsewhere the mounter creates it.
 * @throws PortholeError `mount_error`, `forbidden`, `sandbox_not_running`
 */
export async function mountBucket(
  { sandboxes, mounter, buckets }: MountBucketDeps,
  person: Person,
  sandboxId: string,
  request: MountRequest,
  signal?: AbortSignal,
): Promise<void> {
  const mount = resolveMount(request, buckets, person);
  const { mountPath } = mount;
  const isMade = await makeFolder(sandboxes, sandboxId, mountPath, signal);
  try {
    await mounter.mount(sandboxId, mount, signal);
  } catch (error) {
    if (isMade) await removeFolder(sandboxes, sandboxId, mountPath);
    throw error;
  }
}

/**
 * Returns false if it exists, or is not in the workspace. Always runs a command, because that
 * restarts a sandbox that has died.
 */
async function makeFolder(
  sandboxes: Pick<Sandboxes, 'exec'>,
  sandboxId: string,
  path: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const run = async (...argv: [string, ...string[]]) =>
    (await runToEnd(sandboxes, sandboxId, { argv }, signal)).code === 0;
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

/** Removes the folder if it is empty. Best effort. */
async function removeFolder(
  sandboxes: Pick<Sandboxes, 'exec'>,
  sandboxId: string,
  path: string,
): Promise<void> {
  await runToEnd(sandboxes, sandboxId, { argv: ['rmdir', '--', path] }).catch(() => {});
}

interface UnmountBucketDeps {
  readonly sandboxes: Pick<Sandboxes, 'exec'>;
  readonly mounter: BucketMounter;
}

/**
 * Unmounts the mount at a path, and removes the folder if it is empty.
 * @throws PortholeError `unmount_error` where nothing is mounted
 */
export async function unmountBucket(
  { sandboxes, mounter }: UnmountBucketDeps,
  sandboxId: string,
  mountPath: string,
  signal?: AbortSignal,
): Promise<void> {
  await mounter.unmount(sandboxId, mountPath, signal);
  if (isInWorkspace(mountPath)) await removeFolder(sandboxes, sandboxId, mountPath);
}
