import type { Kysely, RawBuilder } from 'kysely';
import { archives } from './migrations/0007-archives.ts';
import { editor } from './migrations/0011-editor.ts';
import { images } from './migrations/0009-images.ts';
import { skills } from './migrations/0010-skills.ts';
import { runsSandboxesPreviews } from './migrations/0001-runs-sandboxes-previews.ts';
import { sandboxEvents } from './migrations/0013-sandbox-events.ts';
import { delegations } from './migrations/0012-delegations.ts';
import { sandboxGenerations } from './migrations/0003-sandbox-generations.ts';
import { sandboxesByOwner } from './migrations/0004-sandboxes-by-owner.ts';
import { sandboxLife } from './migrations/0005-sandbox-life.ts';
import { sandboxTtl } from './migrations/0008-sandbox-ttl.ts';
import { sandboxSizes } from './migrations/0006-sandbox-sizes.ts';
import { timelinesApprovals } from './migrations/0002-timelines-approvals.ts';

/** One step of the schema. Once released it never changes: what comes later is another step. */
export interface Migration {
  /** `0001-what-it-adds`; kept in the database once applied. */
  readonly name: string;
  /**
   * Runs inside the transaction that all pending steps share. `text` is the column type for every text: compared
   * byte by byte, so that order is the same on every database; `bytes` that of anything else. `Kysely<unknown>`, because a step must not depend on
   * what the schema became later.
   */
  up(db: Kysely<unknown>, text: RawBuilder<unknown>, bytes: RawBuilder<unknown>): Promise<void>;
}

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
];
