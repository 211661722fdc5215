import type { Migration } from './migration.ts';
import { archives } from './migrations/0007-archives.ts';
import { editor } from './migrations/0011-editor.ts';
import { endedSessions } from './migrations/0015-ended-sessions.ts';
import { images } from './migrations/0009-images.ts';
import { skills } from './migrations/0010-skills.ts';
import { networkPolicies } from './migrations/0018-network-policies.ts';
import { oldToolRuns } from './migrations/0016-old-tool-runs.ts';
import { runsSandboxesPreviews } from './migrations/0001-runs-sandboxes-previews.ts';
import { sandboxEvents } from './migrations/0013-sandbox-events.ts';
import { delegations } from './migrations/0012-delegations.ts';
import { sandboxEventKeys } from './migrations/0019-sandbox-event-keys.ts';
import { sandboxGenerations } from './migrations/0003-sandbox-generations.ts';
import { sandboxesByOwner } from './migrations/0004-sandboxes-by-owner.ts';
import { sandboxLife } from './migrations/0005-sandbox-life.ts';
import { sandboxTtl } from './migrations/0008-sandbox-ttl.ts';
import { sandboxSizes } from './migrations/0006-sandbox-sizes.ts';
import { snapshotBytes } from './migrations/0014-snapshot-bytes.ts';
import { approvalScopes } from './migrations/0017-approval-scopes.ts';
import { timelinesApprovals } from './migrations/0002-timelines-approvals.ts';

/** Every step, oldest first. A new table: a file in `migrations/`, a line here, its type in `schema.ts`. */
export const MIGRATIONS: readonly Migration[] = [
  runsSandboxesPreviews,
  timelinesApprovals,
  sandboxGenerations,
  sandboxesByOwner,
  sandboxLife,
  sandboxSizes,
  archives,
  sandboxTtl,
  images,
  skills,
  editor,
  delegations,
  sandboxEvents,
  snapshotBytes,
  endedSessions,
  oldToolRuns,
  approvalScopes,
  networkPolicies,
  sandboxEventKeys,
];
