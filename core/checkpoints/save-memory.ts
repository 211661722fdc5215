import { PortholeError } from '#base/errors.ts';
import type { Sandboxes } from '../sandboxes/sandbox-provider.ts';
import { type ObjectStore, putMemory } from './checkpoint-objects.ts';
import type { CheckpointRecord, StoredMemory } from './checkpoint-store.ts';

/** `auto`: where the sandbox can, and no connection is in use that would be lost. */
export type MemoryWish = boolean | 'auto';

interface MemoryDeps {
  readonly sandboxes: Pick<Sandboxes, 'memory'>;
  readonly store: ObjectStore;
}

export function memoryNotSupported(): PortholeError {
  return new PortholeError('memory_not_supported', 'memory: this sandbox cannot keep its processes', {
    remedy: 'Leave it out: declared servers start again with the files.',
  });
}

const isNotSupported = (error: unknown) =>
  error instanceof PortholeError && error.code === 'memory_not_supported';

/**
 * Saves and stores the memory of a running sandbox; null: it has only its files.
 * @param room in bytes
 * @throws PortholeError `memory_not_supported` if it is required, `archive_error`
 */
export async function saveMemory(
  { sandboxes: { memory }, store }: MemoryDeps,
  sandboxId: string,
  ref: Pick<CheckpointRecord, 'family' | 'id'>,
  wish: MemoryWish,
  room: number,
): Promise<StoredMemory | null> {
  if (wish === false) return null;
  try {
    if (memory === undefined) throw memoryNotSupported();
    return await putMemory(store, ref, await memory.save(sandboxId, room));
  } catch (error) {
    if (wish === 'auto' && isNotSupported(error)) return null;
    throw error;
  }
}
