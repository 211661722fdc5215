import { totalmem } from 'node:os';
import type { Quota, Quotas } from '#core/sandboxes/sandbox-quotas.ts';

/** Sandboxes that one person may have at a time, unless the configuration says otherwise. */
const USUAL = 10;
const MAX_SANDBOXES = 100;
/** Memory of the machine for each sandbox of its only user: most of them are small or idle. */
const MIB_EACH = 512;

/** How many sandboxes the only user of a machine may have, for its memory in bytes. */
export function sandboxesFor(memory: number): number {
  return Math.min(MAX_SANDBOXES, Math.max(USUAL, Math.floor(memory / (MIB_EACH * 2 ** 20))));
}

/** Memory of this machine, or of the container that this process runs in. */
export function machineMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/**
 * Adds the number of sandboxes where none is set.
 * @param memory of the machine that has a single user, `local`; undefined if there may be more
 */
export function withDefaults({ default: common, users }: Quotas, memory: number | undefined): Quotas {
  const every: Quota = { ...common, sandboxes: common.sandboxes === undefined ? USUAL : common.sandboxes };
  if (memory === undefined || common.sandboxes !== undefined) return { default: every, users };
  return {
    default: every,
    users: { ...users, local: { sandboxes: sandboxesFor(memory), ...users['local'] } },
  };
}
