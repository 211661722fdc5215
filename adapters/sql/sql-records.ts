import type { Kysely } from 'kysely';
import type { SealedTexts } from '#adapters/keys/sealed-texts.ts';
import type { Records } from '#core/ports/records.ts';
import { approvalRecords } from './approvals/approval-records.ts';
import type { Notifier } from './notifier.ts';
import { endedSessionRecords } from './ended-session-records.ts';
import { editorRecords } from './editor/editor-records.ts';
import { imageRecords } from './image-records.ts';
import { delegationRecords } from './delegation-records.ts';
import { migrate } from './migrate.ts';
import { policyRecords } from './approvals/policy-records.ts';
import { previewRecords } from './preview-records.ts';
import { runRecords } from './run-records.ts';
import { sandboxEventRecords } from './sandbox-event-records.ts';
import { sandboxEnv } from './sandbox-env.ts';
import { sandboxRecords } from './sandbox-records.ts';
import { skillRecords } from './skill-records.ts';
import { archiveRecords } from './archive-records.ts';
import type { SqlSchema } from './schema.ts';
import type { SqlDialect } from './sql-dialect.ts';
import { type RecordsLog, sqlSession } from './sql-session.ts';
import { timelineRecords } from './timeline-records.ts';

export interface SqlRecordsOptions {
  readonly log?: RecordsLog | undefined;
  /** What secrets are sealed with. @default nothing: they are kept as they are */
  readonly seals?: SealedTexts | undefined;
}

/** The Records port over any database that Kysely and a `SqlDialect` speak. Closing ends `db`. */
export function sqlRecords(
  db: Kysely<SqlSchema>,
  dialect: SqlDialect,
  notifier: Notifier,
  { log, seals }: SqlRecordsOptions = {},
): Records {
  const session = sqlSession(db, dialect, notifier, log);
  return {
    runs: runRecords(session),
    sandboxes: sandboxRecords(session, sandboxEnv(seals, log)),
    previews: previewRecords(session),
    timeline: timelineRecords(session),
    approvals: approvalRecords(session),
    policies: policyRecords(session),
    editor: editorRecords(session),
    images: imageRecords(session),
    delegations: delegationRecords(session),
    sandboxEvents: sandboxEventRecords(session),
    skills: skillRecords(session),
    archives: archiveRecords(session),
    endedSessions: endedSessionRecords(session),
    migrate: () => session.repeatable((db) => migrate(db, dialect)),
    close: session.close,
  };
}
