import { LRUCache } from 'lru-cache';
import type { Owner } from '#base/clock-and-ids.ts';

/** More than run on one host at a time. */
const MAX_KEPT = 10_000;

const owners = new LRUCache<string, string>({ max: MAX_KEPT });

/** Notes the owner of a sandbox: work for it takes the owner's turns of the event loop. */
export function noteTurnOwner({ id, owner }: { readonly id: string; readonly owner: Owner }): void {
  owners.set(id, JSON.stringify([owner.org, owner.user]));
}

/** A sandbox that this process does not know takes its own turns. */
export function turnOwnerOf(sandboxId: string): string {
  return owners.get(sandboxId) ?? sandboxId;
}
