import canonicalize from 'canonicalize';
import { PortholeError } from '#base/errors.ts';
import { NO_NETWORK } from '../network/network-policy.ts';
import { createSandbox, type CreateSandboxDeps } from '../sandboxes/create-sandbox.ts';
import { destroySandbox } from '../sandboxes/end-sandbox.ts';
import { EDITOR_OWNER } from '../sandboxes/sandbox-owner.ts';
import { NO_QUOTAS } from '../sandboxes/sandbox-quotas.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import { readySandbox, type UseSandboxDeps } from '../sandboxes/use-sandbox.ts';
import { later, type Owner } from '#base/clock-and-ids.ts';
import { CUT_OFF, type EditorOptions, sessionOf, tagsOf } from './editor-limits.ts';
import type { ToolRunRecord } from './editor-store.ts';
import { formatFault, isTooDeep, jsonFault, MAX_DEPTH } from './tool-json.ts';

/**
 * Size of a snapshot's payload in canonical form (RFC 8785), in bytes: independent of white space
 * and field order.
 * @throws PortholeError `snapshot_too_large` naming both sizes, `invalid_snapshot` for a payload
 * without a canonical form
 */
export function measureSnapshot(payload: unknown, most: number): number {
  if (isTooDeep(payload)) {
    throw new PortholeError('invalid_snapshot', `The snapshot nests deeper than ${MAX_DEPTH} levels`, {
      remedy: 'make it flatter.',
    });
  }
  const fault = jsonFault(payload);
  if (fault !== undefined)
    throw new PortholeError('invalid_snapshot', `The snapshot contains ${formatFault(fault)}.`);
  const bytes = Buffer.byteLength(canonical(payload));
  if (bytes > most) throw snapshotTooLarge(most, `has ${bytes} bytes as canonical JSON`);
  return bytes;
}

export function snapshotTooLarge(most: number, what: string): PortholeError {
  return new PortholeError('snapshot_too_large', `The snapshot ${what}; the limit is ${most} bytes`, {
    remedy: 'shorten source_code or the schemas.',
    details: { limit: most },
  });
}

function canonical(payload: unknown): string {
  const text = canonicalize(payload);
  if (text === undefined) throw new PortholeError('invalid_snapshot', 'The snapshot is not a JSON value.');
  return text;
}

export type SnapshotSandboxDeps = CreateSandboxDeps & UseSandboxDeps;

/**
 * The sandbox of a snapshot, ready for a command: the same one while it exists, a new one if it is
 * lost. The service owns it, so no user's quota applies.
 */
export function snapshotSandbox(
  deps: SnapshotSandboxDeps,
  { id: snapshotId, owner }: { readonly id: string; readonly owner: Owner },
  signal?: AbortSignal,
): Promise<SandboxRecord> {
  return createSandbox(
    { ...deps, quotas: NO_QUOTAS },
    { owner: EDITOR_OWNER, sessionKey: sessionOf(snapshotId), tags: tagsOf(owner), network: NO_NETWORK },
    undefined,
    signal,
    (known) => readySandbox(deps, known),
  );
}

async function existingSandbox(
  { records }: Pick<SnapshotSandboxDeps, 'records'>,
  snapshotId: string,
): Promise<SandboxRecord | undefined> {
  const { items } = await records.sandboxes.list(
    EDITOR_OWNER,
    { sessionKey: sessionOf(snapshotId) },
    { limit: 10 },
  );
  return items.find(({ desired }) => desired !== 'destroyed');
}

type CleanSnapshotsDeps = Pick<SnapshotSandboxDeps, 'records' | 'sandboxes' | 'clock' | 'installationId'> & {
  readonly editor: Pick<EditorOptions, 'runRetentionMs'>;
  readonly log: { error(fields: object, message: string): void };
};

/** Result of one pass. */
export interface CleaningReport {
  /** Removed snapshots, with their sandboxes and files. */
  readonly snapshots: number;
  /** Interrupted runs that are now recorded as failed. */
  readonly runs: number;
  /** Removed old runs. */
  readonly oldRuns: number;
}

/** Snapshots per query. */
const BATCH = 50;
/** Maximum snapshots per pass; the next pass continues. */
const MAX_SNAPSHOTS = 1_000;

/**
 * Removes expired snapshots with their sandboxes and files. Their runs stay for `runRetentionMs`,
 * and still report that the snapshot has expired. The sandbox is removed first, so the pass after a
 * crash finds the snapshot again. Passes may run concurrently.
 * @param most maximum number of snapshots
 */
export async function cleanSnapshots(
  deps: CleanSnapshotsDeps,
  {
    most = MAX_SNAPSHOTS,
    signal,
  }: { readonly most?: number; readonly signal?: AbortSignal | undefined } = {},
): Promise<CleaningReport> {
  const { records, clock } = deps;
  const runs = await records.toolRuns.failOverdue(clock.now(), CUT_OFF, MAX_SNAPSHOTS);
  let snapshots = 0;
  while (snapshots < most) {
    signal?.throwIfAborted();
    const now = clock.now();
    const batch = await records.toolSnapshots.expired(now, Math.min(BATCH, most - snapshots));
    const cleared: string[] = [];
    for (const id of batch) if (await clearSandbox(deps, id)) cleared.push(id);
    if (cleared.length === 0) break;
    snapshots += await records.toolSnapshots.remove(cleared, now);
  }
  const before = later(clock, -deps.editor.runRetentionMs);
  const oldRuns = await records.toolRuns.removeOlder(before, most);
  return { snapshots, runs, oldRuns };
}

/** Returns false if it still exists: in another installation, or because destroying it failed. */
async function clearSandbox(deps: CleanSnapshotsDeps, snapshotId: string): Promise<boolean> {
  try {
    const sandbox = await existingSandbox(deps, snapshotId);
    if (sandbox === undefined) return true;
    if (sandbox.place !== deps.installationId) return false;
    await destroySandbox(deps, sandbox);
    return true;
  } catch (err) {
    deps.log.error({ err, snapshot_id: snapshotId }, 'snapshot not removed: the next pass tries again');
    return false;
  }
}

/** The error for an action on an expired snapshot, removed or not. Says how to run again. */
export function snapshotExpired({
  snapshotId,
  snapshotExpiresAt,
  versionId,
}: Pick<ToolRunRecord, 'snapshotId' | 'snapshotExpiresAt' | 'versionId'>): PortholeError {
  const runAgain = `/api/v1/editor/tool-versions/${versionId}/run-sandbox`;
  const at = snapshotExpiresAt.toISOString();
  return new PortholeError('snapshot_expired', `Snapshot ${snapshotId} expired at ${at}`, {
    remedy: `run again, with POST ${runAgain}, and act on that run.`,
    details: { run_again: runAgain, expires_at: at },
  });
}
