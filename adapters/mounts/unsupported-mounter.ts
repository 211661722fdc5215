import { PortholeError } from '#core/errors.ts';
import type { BucketMounter } from '#core/mounts/mount-bucket.ts';
import { mountFailed } from './mount-failure.ts';

/** For sandboxes that no mount can reach: fails with what is missing. */
export function unsupportedMounter(missing: string): BucketMounter {
  return {
    mount: () => Promise.reject(mountFailed(missing)),
    unmount: (_sandboxId, mountPath) =>
      Promise.reject(
        new PortholeError('unmount_error', `unmount failed: No active mount found at path: ${mountPath}`),
      ),
  };
}
