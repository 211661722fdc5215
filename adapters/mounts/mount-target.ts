import type { ChildProcess } from 'node:child_process';
import type { BucketMount } from '#core/mounts/mount-bucket.ts';
import { mountFailed } from './mount-failure.ts';

/** The mount point of one bucket in a sandbox. */
export interface MountTarget {
  /**
   * Starts a mount supervisor; without a bucket it only removes the mount of a killed one.
   * @throws PortholeError `mount_error` with what is missing
   */
  launch(name: string, mount?: BucketMount): Promise<ChildProcess>;
  /** Removes what was created on the host for the mount. */
  clear(): void;
}

/**
 * The folder that contains a path, and the path within it. @throws PortholeError `mount_error` if
 * none of the folders can hold a bucket
 */
export function folderOf<F extends { readonly inside: string }>(
  mountPath: string,
  folders: readonly F[],
): { readonly folder: F; readonly path: string } {
  const folder = folders.find(({ inside }) => mountPath.startsWith(`${inside}/`));
  if (folder !== undefined) return { folder, path: mountPath.slice(folder.inside.length + 1) };
  const known = folders.map(({ inside }) => `${inside}/…`).join(' or ');
  throw mountFailed(`${mountPath} cannot hold a bucket: use a path ${known}`);
}
