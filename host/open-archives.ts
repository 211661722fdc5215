import { type S3ArchiveOptions, s3ArchiveStore } from '#adapters/archives/s3-archive-store.ts';
import { ARCHIVED_WITHIN_MS } from '#core/use-cases/archives/archive-limits.ts';
import { archiveSandbox, type ArchiveSandboxDeps } from '#core/use-cases/archives/archive-sandbox.ts';
import type { Services } from '#handlers/services.ts';
import type { Metrics } from './metrics.ts';

/** What keeps workspaces in the bucket of the configuration, and counts how often that works. */
export function openArchives(
  options: S3ArchiveOptions | undefined,
  { metrics, ...deps }: Omit<ArchiveSandboxDeps, 'store'> & { readonly metrics: Metrics },
): Services['archives'] {
  if (options === undefined) return undefined;
  const store = s3ArchiveStore(options);
  return {
    store,
    async keep(sandbox, signal) {
      const late = AbortSignal.timeout(ARCHIVED_WITHIN_MS);
      const until = signal === undefined ? late : AbortSignal.any([signal, late]);
      try {
        await archiveSandbox({ ...deps, store }, sandbox, until);
        metrics.archived('kept');
      } catch (error) {
        metrics.archived('failed');
        throw error;
      }
    },
  };
}
