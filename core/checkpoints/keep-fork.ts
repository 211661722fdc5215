import { PortholeError } from '#base/errors.ts';
import type { SandboxRecord } from '../sandboxes/sandbox-records.ts';
import type { Performer } from './checkpoint-events.ts';
import type { CheckpointRecord } from './checkpoint-store.ts';
import { restoreCheckpoint, type Restored } from './restore-checkpoint.ts';
import { areOfOneFamily, type CheckpointDeps, takeCheckpoint } from './take-checkpoint.ts';

/**
 * Makes the files and the declared servers of a sandbox those of its fork: by a checkpoint of the
 * fork, which is restored. Both run. The runs, the previews and the tokens of each stay with it.
 * @throws PortholeError `invalid_request` for a sandbox that is not a fork of it; what
 * `takeCheckpoint` and `restoreCheckpoint` throw
 */
export async function keepFork(
  deps: CheckpointDeps,
  sandbox: SandboxRecord,
  fork: SandboxRecord,
  by?: Performer,
  signal?: AbortSignal,
): Promise<Restored & { readonly checkpoint: CheckpointRecord }> {
  const asked = { label: `fork ${fork.name ?? fork.id}`, cause: 'manual', by } as const;
  const { checkpoint } = await takeCheckpoint(deps, fork, asked, signal);
  return { checkpoint, ...(await restoreCheckpoint(deps, sandbox, checkpoint, by, signal)) };
}

/** @throws PortholeError `invalid_request` unless both are of one family of checkpoints */
export async function checkIsFork(
  { records }: Pick<CheckpointDeps, 'records'>,
  sandbox: SandboxRecord,
  fork: SandboxRecord,
): Promise<void> {
  if (sandbox.id !== fork.id && (await areOfOneFamily(records.checkpoints, sandbox, fork))) return;
  throw new PortholeError('invalid_request', `fork: ${fork.id} is not a fork of sandbox ${sandbox.id}`, {
    remedy: `POST /v1/sandbox/${sandbox.id}/checkpoints/{checkpoint}/fork makes forks.`,
  });
}
