import { PortholeError } from '../../errors.ts';
import type { ToolRunRecord } from '../../ports/editor.ts';

/** Nothing can follow a run whose snapshot is over, removed or not: what is left is to run again, and where. */
export function snapshotExpired({
  snapshotId,
  snapshotExpiresAt,
  versionId,
}: Pick<ToolRunRecord, 'snapshotId' | 'snapshotExpiresAt' | 'versionId'>): PortholeError {
  const runAgain = `/api/v1/editor/tool-versions/${versionId}/run-sandbox`;
  const at = snapshotExpiresAt.toISOString();
  return new PortholeError(
    'snapshot_expired',
    `Snapshot ${snapshotId} expired at ${at}: run again, with POST ${runAgain}, and act on that run.`,
    { details: { run_again: runAgain, expires_at: at } },
  );
}
