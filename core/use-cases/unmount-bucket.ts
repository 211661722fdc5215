import type { BucketMounter } from '../ports/bucket-mounter.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import { isInWorkspace, removeFolder } from './mount-bucket.ts';

export interface UnmountBucketDeps {
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
