import type { PreviewPlane } from '../previews/preview-plane.ts';
import type { Clock, Owner } from '#base/clock-and-ids.ts';
import type { Records } from '../records.ts';
import { stopUnlessUsed } from './resume-sandbox.ts';
import type { Sandboxes } from './sandbox-provider.ts';
import type { SandboxRecord } from './sandbox-records.ts';

interface MakeRoomDeps {
  readonly records: Pick<Records, 'sandboxes' | 'capacity'>;
  readonly sandboxes: Pick<Sandboxes, 'stop'>;
  readonly plane: Pick<PreviewPlane, 'list'>;
  readonly clock: Clock;
  readonly installationId: string;
}

/** Stops a sandbox of an owner at the quota. False if none is unattended. */
export type MakeRoom = (owner: Owner) => Promise<boolean>;

/** Without a command, a connection or a transfer for so long, its program has probably ended. */
const UNATTENDED_MS = 5 * 60_000;

/** Sandboxes that may be stopped to free quota, longest unused first. */
export function unattended(
  running: readonly SandboxRecord[],
  withPreview: ReadonlySet<string>,
  now: Date,
): readonly SandboxRecord[] {
  return running
    .filter(
      ({ id, observed, ttlSeconds, lastActiveAt }) =>
        observed === 'running' &&
        // One with a ttl ends without its client already.
        ttlSeconds === null &&
        !withPreview.has(id) &&
        now.getTime() - lastActiveAt.getTime() >= UNATTENDED_MS,
    )
    .toSorted((a, b) => a.lastActiveAt.getTime() - b.lastActiveAt.getTime());
}

/**
 * Stops the unattended sandbox that is unused for the longest, such as one that a dead script left:
 * its files stay, and its next use resumes it. A use in between wins.
 */
export async function makeRoom(
  { records, sandboxes, plane, clock, installationId }: MakeRoomDeps,
  owner: Owner,
): Promise<boolean> {
  const withPreview = new Set<string>();
  for await (const { sandboxId } of plane.list({ owner: owner.user })) withPreview.add(sandboxId);
  const running = await records.capacity.wantedBy(owner, installationId);
  for (const sandbox of unattended(running, withPreview, clock.now())) {
    if (await stopUnlessUsed({ records, sandboxes, clock }, sandbox)) return true;
  }
  return false;
}
