import { AsyncLocalStorage } from 'node:async_hooks';

const essential = new AsyncLocalStorage<true>();

/**
 * Marks work, and what it waits for, as what must be possible on a full disk: it stops or deletes
 * something, or lets a person delete files. Only such work may use the reserve of the disk.
 */
export function asEssential<T>(work: () => T): T {
  return essential.run(true, work);
}

export function isEssential(): boolean {
  return essential.getStore() === true;
}
