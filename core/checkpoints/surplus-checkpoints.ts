import type { CheckpointRecord } from './checkpoint-store.ts';

/** Automatic checkpoints of a sandbox that are kept. */
const KEPT_AUTOMATIC = 10;

/** Those to delete: unlabelled automatic ones but the last. @param checkpoints oldest first */
export function surplusOf(checkpoints: readonly CheckpointRecord[], kept = KEPT_AUTOMATIC): string[] {
  const automatic = checkpoints.filter(({ label, cause }) => label === null && cause !== 'manual');
  return automatic.slice(0, Math.max(0, automatic.length - kept)).map(({ id }) => id);
}
