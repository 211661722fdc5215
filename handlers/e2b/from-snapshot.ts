import type { Person } from '#core/callers.ts';
import { PortholeError } from '#base/errors.ts';
import type { CheckpointRecord } from '#core/checkpoints/checkpoint-store.ts';
import { forkCheckpoint, type ForkOptions } from '#core/checkpoints/fork-checkpoint.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { checkpointsOf } from '../sandboxes/find-checkpoint.ts';
import type { Services } from '../services.ts';

/** A snapshot of E2B's clients is a checkpoint. Its id is also that of a template. */
const SNAPSHOT_ID = /^ckp_[0-9A-Za-z]+$/;

export function isSnapshotId(template: string): boolean {
  return SNAPSHOT_ID.test(template);
}

/**
 * A snapshot and its sandbox, if the caller manages that.
 * @throws PortholeError `checkpoint_not_found`, `checkpoints_not_supported`
 */
export async function findSnapshot(
  services: Services,
  person: Person,
  id: string,
): Promise<{ readonly snapshot: CheckpointRecord; readonly sandbox: SandboxRecord }> {
  checkpointsOf(services);
  const missing = () =>
    new PortholeError('checkpoint_not_found', `Snapshot ${id.slice(0, 100)} does not exist`, {
      remedy: 'GET /e2b/snapshots lists them.',
    });
  const snapshot = isSnapshotId(id) ? await services.records.checkpoints.get(id) : undefined;
  if (snapshot?.state !== 'ready') throw missing();
  const sandbox = await findSandbox(services, person, snapshot.sandboxId).catch((error: unknown) => {
    throw error instanceof PortholeError && error.code === 'sandbox_not_found' ? missing() : error;
  });
  if (sandbox.generation !== snapshot.generation) throw missing();
  return { snapshot, sandbox };
}

/** @throws as `findSnapshot` and `forkCheckpoint` do */
export async function sandboxFromSnapshot(
  services: Services,
  person: Person,
  id: string,
  fields: NonNullable<ForkOptions['fields']>,
  signal?: AbortSignal,
): Promise<SandboxRecord> {
  const { snapshot, sandbox } = await findSnapshot(services, person, id);
  const options = { count: 1, variables: [], fields };
  const [fork] = await forkCheckpoint(checkpointsOf(services), sandbox, snapshot, options, signal);
  if (fork !== undefined && 'sandbox' in fork) return fork.sandbox;
  throw fork?.error ?? new Error('no fork was made');
}
