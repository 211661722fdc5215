import { PortholeError } from '#base/errors.ts';
import type { CheckpointRecord } from '#core/checkpoints/checkpoint-store.ts';
import type { CheckpointDeps } from '#core/checkpoints/take-checkpoint.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { Services } from '../services.ts';

/** @throws PortholeError `checkpoints_not_supported` */
export function checkpointsOf(services: Services): Services & CheckpointDeps {
  if (services.checkpoints !== undefined) return { ...services, ...services.checkpoints };
  throw new PortholeError('checkpoints_not_supported', 'This installation has no place for checkpoints', {
    remedy: 'An administrator sets PORTHOLE_ARCHIVE_BUCKET.',
  });
}

/**
 * A checkpoint of the sandbox, or one that it was made from.
 * @throws PortholeError `checkpoint_not_found`, also for those of other sandboxes
 */
export async function findCheckpoint(
  { records: { checkpoints } }: Pick<Services, 'records'>,
  sandbox: SandboxRecord,
  id: string,
): Promise<CheckpointRecord> {
  const found = await checkpoints.get(id);
  if (found?.state === 'ready') {
    if (found.sandboxId === sandbox.id && found.generation === sandbox.generation) return found;
    const [head, own] = await Promise.all([checkpoints.head(sandbox), checkpoints.list(sandbox)]);
    if (head?.checkpointId === id || own.some(({ parentId }) => parentId === id)) return found;
  }
  throw new PortholeError(
    'checkpoint_not_found',
    `Sandbox ${sandbox.id} has no checkpoint ${id.slice(0, 100)}`,
    {
      remedy: `GET /v1/sandbox/${sandbox.id}/checkpoints lists them.`,
    },
  );
}
