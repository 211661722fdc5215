import type { Person } from '../callers.ts';
import type { BucketMounter } from '../ports/bucket-mounter.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import type { MountRequest } from '../rules/mount-request.ts';
import { type BucketOptions, resolveMount } from '../rules/resolve-mount.ts';
import { runToEnd } from './run-to-end.ts';

export interface MountBucketDeps {
  readonly provider: Pick<SandboxProvider, 'exec'>;
  readonly mounter: BucketMounter;
  readonly buckets: BucketOptions;
}

/** Exits with 0 where it made the folder, and with 1 where that was there. */
const MAKE_FOLDER = 'mkdir -p -- "${1%/*}" && mkdir -- "$1"';

/**
 * Mounts a bucket in a sandbox. Its folder in /workspace is made by the sandbox itself, with its own rights; elsewhere the mounter sees to it.
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
  const isOurs = isInWorkspace(mountPath);
  // Something runs in any case: it brings back a sandbox that has died.
  const argv = isOurs ? (['sh', '-c', MAKE_FOLDER, 'sh', mountPath] as const) : (['true'] as const);
  const { code } = await runToEnd(provider, sandboxId, { argv }, signal);
  try {
    await mounter.mount(sandboxId, mount, signal);
  } catch (error) {
    if (isOurs && code === 0) await removeFolder(provider, sandboxId, mountPath);
    throw error;
  }
}

export function isInWorkspace(path: string): boolean {
  return path.startsWith('/workspace/');
}

/** If it is empty. Best effort: what was to be done there is over either way. */
export async function removeFolder(
  provider: Pick<SandboxProvider, 'exec'>,
  sandboxId: string,
  path: string,
): Promise<void> {
  await runToEnd(provider, sandboxId, { argv: ['rmdir', '--', path] }).catch(() => {});
}
