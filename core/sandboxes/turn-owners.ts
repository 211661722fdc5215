import type { Owner } from '#base/clock-and-ids.ts';

/** More than run on one host at a time. */
const MAX_KEPT = 10_000;

const owners = new Map<string, string>();

/** Notes the owner of a sandbox: work for it takes the owner's turns of the event loop. */
export function noteTurnOwner({ id, owner }: { readonly id: string; readonly owner: Owner }): void {
  owners.delete(id);
  owners.set(id, JSON.stringify([owner.org, owner.user]));
  const [oldest] = owners.keys();
  if (owners.size > MAX_KEPT && oldest !== undefined) owners.delete(oldest);
}

/** A sandbox that this process does not know takes its own turns. */
export function turnOwnerOf(sandboxId: string): string {
  return owners.get(sandboxId) ?? sandboxId;
}
