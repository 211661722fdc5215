import { PortholeError } from '#base/errors.ts';
import type { BucketMount, BucketMounter } from '#core/mounts/mount-bucket.ts';

export const EARLIER_VERSION =
  'the sandbox was started by an earlier version of Porthole: stop it and resume it';

/**
 * Messages of s3fs and of the mount supervisor, as errors for a caller. The originals go to the
 * log.
 */
const MEANINGS: readonly [RegExp, (mount: BucketMount) => string][] = [
  [/failed to execute s3fs/, () => 's3fs is not installed on the host (apt-get install s3fs)'],
  [
    /spawn (nsenter|unshare) ENOENT/,
    () => 'nsenter is not installed on the host (apt-get install util-linux)',
  ],
  [/fuse: device not found|\/dev\/fuse/, () => 'the host has no /dev/fuse (modprobe fuse)'],
  [
    /open (folder|mount path): (ELOOP|ENOTDIR)/,
    ({ mountPath }) =>
      `a part of ${mountPath} is a symbolic link or no folder: buckets are mounted on real folders`,
  ],
  [/open mounts|make folder: EROFS/, () => EARLIER_VERSION],
  [/make folder: ENAMETOOLONG/, () => 'the path has a part that is too long'],
  [/open (root|folder|mount path)/, ({ mountPath }) => `${mountPath} is not there any more`],
  [/is not empty/, ({ mountPath }) => `${mountPath} is not empty: choose an empty or a new folder`],
  [
    /nsenter: |setpriv: |unshare: |mount: |Operation not permitted|fusermount/,
    () =>
      'the host may not mount in the namespace of the sandbox: it needs Linux 4.18 or later, util-linux 2.33 or later, /dev/fuse, and unprivileged FUSE mounts',
  ],
  [/invalid credentials/, ({ endpoint }) => `the S3 server at ${endpoint} refuses the credentials`],
  [
    /bucket or key not found|bucket not found/,
    ({ bucket, endpoint }) => `there is no bucket ${bucket} at ${endpoint}`,
  ],
  [/unable to connect|not readable in time/, ({ endpoint }) => `no S3 server answers at ${endpoint} in time`],
  [/unknown option/, () => 'one of options.s3fsOptions is unknown to the s3fs of the host'],
];

/** The error for a mount that failed. `said` is its stderr, without secrets. */
export function mountFailure(mount: BucketMount, said: string): PortholeError {
  const meaning = MEANINGS.find(([pattern]) => pattern.test(said))?.[1];
  const reason =
    meaning?.(mount) ?? `s3fs cannot mount bucket ${mount.bucket}; the cause is in Porthole's log`;
  return mountFailed(reason, new Error(said));
}

export function mountFailed(reason: string, cause?: unknown): PortholeError {
  return new PortholeError('mount_error', `mount failed: ${reason}`, { cause });
}

export function notMounted(mountPath: string): PortholeError {
  return new PortholeError('unmount_error', `unmount failed: No active mount found at path: ${mountPath}`);
}

/** For sandboxes that no mount can reach: fails with what is missing. */
export function unsupportedMounter(missing: string): BucketMounter {
  return {
    mount: () => Promise.reject(mountFailed(missing)),
    unmount: (_sandboxId, mountPath) => Promise.reject(notMounted(mountPath)),
  };
}
