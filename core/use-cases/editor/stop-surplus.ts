import type { Owner } from '../../ports/owner.ts';
import { EDITOR_OWNER, sessionOf, tagsOf } from '../../rules/editor/editor-owner.ts';
import { stopSandbox } from '../resume-sandbox.ts';
import type { SnapshotSandboxDeps } from './snapshot-sandbox.ts';

/** Sandboxes of one person's snapshots that run at a time; whoever acts on an older one wakes it. */
const MOST_RUNNING = 8;

/** No quota binds the editor's sandboxes, so this does: beyond the newest few they are stopped, unless a run is under way in them. Their files stay. */
export async function stopSurplus(deps: SnapshotSandboxDeps, owner: Owner): Promise<void> {
  const { records, clock } = deps;
  const { items } = await records.sandboxes.list(
    EDITOR_OWNER,
    { state: 'running', tags: tagsOf(owner) },
    { limit: 100 },
  );
  const surplus = items.slice(MOST_RUNNING);
  if (surplus.length === 0) return;
  const underWay = await records.editor.snapshotsUnderWay(owner, clock.now());
  const busy = new Set([...underWay].map(sessionOf));
  for (const sandbox of surplus) {
    if (!busy.has(sandbox.sessionKey ?? '')) await stopSandbox(deps, sandbox);
  }
}
