import type { Kysely } from 'kysely';
import type { SealedTexts } from '#adapters/auth/sealed-texts.ts';
import type { EndedSessionRecords } from '#core/auth/sign-in.ts';
import { PortholeError } from '#base/errors.ts';
import type { EventData, RunEvent, TimelineRecords } from '#core/runs/timeline.ts';
import type { Records } from '#core/records.ts';
import { apiKeyRecords } from './api-key-records.ts';
import { accessRecords } from './access-records.ts';
import { previewNames } from './preview-names.ts';
import { auditRecords } from './audit-records.ts';
import { approvalRecords } from './approval-records.ts';
import { archiveRecords } from './archive-records.ts';
import { checkpointRecords } from './checkpoint-records.ts';
import { delegationRecords } from './delegation-records.ts';
import { draftRecords } from './draft-records.ts';
import { imageRecords } from './image-records.ts';
import { inboxRecords } from './inbox-records.ts';
import { usageRecords } from './usage-records.ts';
import { viewerRecords } from './viewer-records.ts';
import { checkLimit } from './keyset-page.ts';
import { lookRecords } from './look-records.ts';
import { migrate, newerStep } from './migrate.ts';
import { ownerSeals, sandboxEnv } from './owner-seals.ts';
import { policyRecords } from './policy-records.ts';
import { publishingTransaction, unpublishedAmong } from './publishing-transaction.ts';
import { sandboxEventRecords } from './sandbox-event-records.ts';
import type { Row, SqlSchema } from './schema.ts';
import { skillRecords } from './skill-records.ts';
import { deleted, done, instantText, type Notifier, type SqlDialect, some } from './sql-dialect.ts';
import { previewRecords } from './sql-preview-records.ts';
import { runRecords } from './sql-run-records.ts';
import { sandboxCapacity } from './sql-sandbox-capacity.ts';
import { sandboxRecords } from './sql-sandbox-records.ts';
import { type RecordsLog, type SessionOptions, type SqlSession, sqlSession } from './sql-session.ts';
import { webhookRecords } from './webhook-records.ts';
import { toolRecords } from './tool-records.ts';
import { toolRunRecords, toolSnapshotRecords } from './tool-run-records.ts';

/** PostgreSQL's largest integer. */
const MAX_SEQ = 2_147_483_647;

function timelineRecords(session: SqlSession): TimelineRecords {
  const { dialect, repeatable, notifier } = session;
  return {
    append: (runId, events, at) =>
      repeatable(async (db) => {
        if (events.length === 0) return;
        // Most events are already known; this check takes no lock and writes nothing.
        const { fresh } = await unpublishedAmong(db, dialect, runId, events, at);
        if (fresh.length > 0)
          await publishingTransaction(session, db, (_trx, publish) => publish(runId, fresh, at));
      }),

    read: (runId, { after, limit }) =>
      repeatable(async (db) => {
        checkLimit(limit);
        if (!Number.isInteger(after) || after < 0 || after > MAX_SEQ) {
          throw new PortholeError('invalid_request', `after must be the id of an event, got ${after}`, {
            remedy: 'start again without it',
          });
        }
        const rows = await db
          .selectFrom('run_events')
          .selectAll()
          .where('run_id', '=', runId)
          .where('seq', '>', after)
          .orderBy('seq')
          .limit(limit + 1)
          .execute();
        return { events: rows.slice(0, limit).map(toEvent), more: rows.length > limit };
      }),

    watch: (runId, wake) => notifier.watch(runId, wake),
  };
}

function toEvent(row: Row<'run_events'>): RunEvent {
  return {
    seq: row.seq,
    type: row.type,
    at: new Date(row.at),
    data: JSON.parse(row.data) as EventData,
  };
}

export interface SqlRecordsOptions {
  readonly log?: RecordsLog | undefined;
  /** Seals secrets. @default none: they are stored as plain text */
  readonly seals?: SealedTexts | undefined;
}

/**
 * The Records port over any database that Kysely and a `SqlDialect` support. Closing ends `db`.
 * @param options.selectNow answers look-ups of every request at once; without it, Kysely does
 */
export function sqlRecords(
  db: Kysely<SqlSchema>,
  dialect: SqlDialect,
  notifier: Notifier,
  { log, seals, ...options }: SqlRecordsOptions & SessionOptions = {},
): Records {
  const session = sqlSession(db, dialect, notifier, log, options);
  const sealing = ownerSeals(seals, log);
  const env = sandboxEnv(sealing);
  return {
    runs: runRecords(session),
    sandboxes: sandboxRecords(session, env),
    capacity: sandboxCapacity(session, env),
    previews: previewRecords(session),
    access: accessRecords(session),
    previewNames: previewNames(session),
    timeline: timelineRecords(session),
    approvals: approvalRecords(session),
    policies: policyRecords(session),
    tools: toolRecords(session),
    drafts: draftRecords(session),
    toolRuns: toolRunRecords(session),
    toolSnapshots: toolSnapshotRecords(session),
    images: imageRecords(session),
    delegations: delegationRecords(session),
    sandboxEvents: sandboxEventRecords(session),
    skills: skillRecords(session),
    archives: archiveRecords(session),
    checkpoints: checkpointRecords(session),
    looks: lookRecords(session, sealing),
    inbox: inboxRecords(session, sealing),
    viewers: viewerRecords(session),
    endedSessions: endedSessionRecords(session),
    apiKeys: apiKeyRecords(session),
    audit: auditRecords(session),
    usage: usageRecords(session),
    webhooks: webhookRecords(session, sealing),
    migrate: () => session.repeatable((db) => migrate(db, dialect)),
    database: () =>
      session.repeatable(async (db) => {
        const { now, software } = await db
          .selectNoFrom([dialect.presentTime.as('now'), dialect.software.as('software')])
          .executeTakeFirstOrThrow();
        return { now: new Date(now), software, newerStep: await newerStep(db) };
      }),
    isAnswering: session.isAnswering,
    close: session.close,
  };
}

function endedSessionRecords({ repeatable }: SqlSession): EndedSessionRecords {
  return {
    add: (id, until) =>
      repeatable((db) =>
        done(
          db
            .insertInto('ended_sessions')
            .values({ id, until: instantText(until) })
            .onConflict((conflict) => conflict.column('id').doNothing()),
        ),
      ),

    has: (id) => repeatable((db) => some(db.selectFrom('ended_sessions').select('id').where('id', '=', id))),

    forget: (before) =>
      repeatable((db) => deleted(db.deleteFrom('ended_sessions').where('until', '<', instantText(before)))),
  };
}
