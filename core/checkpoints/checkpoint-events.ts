import type { performerOf } from '../callers.ts';
import type { NewEvent } from '../runs/timeline.ts';
import type { CheckpointRecord } from './checkpoint-store.ts';

/** Who asked for it; undefined: Porthole itself. */
export type Performer = ReturnType<typeof performerOf> | undefined;

type Subject = Pick<CheckpointRecord, 'id' | 'label' | 'cause'>;

export function checkpointCreated({ files, ...one }: Subject & { files: number }, by: Performer): NewEvent {
  return {
    type: 'checkpoint.created',
    key: `checkpoint:${one.id}`,
    data: { ...about(one), cause: one.cause, files, ...by },
  };
}

/** @param before the checkpoint of the present that was made first */
export function checkpointRestored(
  one: Subject,
  before: Subject,
  counts: { readonly written: number; readonly removed: number },
  by: Performer,
): NewEvent {
  const { written, removed } = counts;
  return {
    type: 'checkpoint.restored',
    key: `checkpoint-restored:${before.id}`,
    data: { ...about(one), before: before.id, written, removed, ...by },
  };
}

/** @param sandboxId of the fork */
export function checkpointForked(one: Subject, sandboxId: string, by: Performer): NewEvent {
  return {
    type: 'checkpoint.forked',
    key: `checkpoint-forked:${sandboxId}`,
    data: { ...about(one), sandbox_id: sandboxId, ...by },
  };
}

function about({ id, label }: Subject) {
  return { checkpoint_id: id, label };
}
