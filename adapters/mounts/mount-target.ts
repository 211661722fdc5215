import type { ChildProcess } from 'node:child_process';
import type { BucketMount } from '#core/mounts/mount-bucket.ts';
import { mountFailed } from './mount-failure.ts';

/** A path of a sandbox where one bucket is to be mounted. */
export interface MountTarget {
  /**
   * Starts a keeper there; without a bucket one that only takes away what a killed keeper has left.
   * @throws PortholeError `mount_error` with what is missing
   */
  launch(name: string, mount?: BucketMount): Promise<ChildProcess>;
  /** Takes away what was made on the host for the mount. */
  clear(): void;
}

/**
 * The folder that a path lies in, and where in it. @throws PortholeError `mount_error` where none
 * of the folders can hold a bucket
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
