import { PortholeError } from '#base/errors.ts';
import type { ApprovalRecords, ApprovalRequest } from '#core/approvals/approval-store.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import { policyPort, policyRun } from '#core/approvals/approval-rules.ts';
import { deleted, done, EVERY_RUN, first, instantText, ownedBy } from './sql-dialect.ts';
import type { SqlSession } from './sql-session.ts';
import { holdRun, publishingTransaction } from './publishing-transaction.ts';
import { addAuditEvents } from './audit-records.ts';
import { toApproval, toPolicy } from './approval-rows.ts';
import { ask, approveCovered, endWaiting, WAITING } from './sql-approvals.ts';
import { keepDecision, policyEvent } from './policy-records.ts';

/** Maximum requests that one query times out. */
const DUE_AT_ONCE = 200;

/**
 * Every change of a request locks its run first, so changes of one run are serialized and cannot
 * deadlock.
 */
export function approvalRecords(session: SqlSession): ApprovalRecords {
  const { dialect, once, repeatable, notifier } = session;

  return {
    // Idempotent: a repeat finds the same waiter on the same request.
    ask: (request, waiter, bounds) =>
      repeatable((db) =>
        publishingTransaction(session, db, async (trx, publish) => {
          const run = await holdRun(trx, dialect, request.runId);
          if (bounds.byAgent === true && run?.status === 'completed') throw runEnded(request);
          return ask(trx, publish, request, waiter, bounds);
        }),
      ),

    get: (id) =>
      repeatable((db) => first(db.selectFrom('approvals').selectAll().where('id', '=', id), toApproval)),

    stay: (id, { id: waiter, until }) =>
      repeatable((db) =>
        done(
          db
            .updateTable('approval_waiters')
            .set({ until: instantText(until) })
            .where('approval_id', '=', id)
            .where('waiter', '=', waiter),
        ),
      ),

    leave: (runId, id, waiter, now) =>
      repeatable((db) =>
        publishingTransaction(session, db, async (trx, publish) => {
          await holdRun(trx, dialect, runId);
          await trx
            .deleteFrom('approval_waiters')
            .where('approval_id', '=', id)
            .where('waiter', '=', waiter)
            .execute();
          const approval = await trx
            .selectFrom('approvals')
            .select('expires_at')
            .where('id', '=', id)
            .executeTakeFirst();
          if (approval === undefined) return undefined;
          if (new Date(approval.expires_at) <= now) {
            await endWaiting(trx, publish, [id], { status: 'timed_out' }, now);
            return undefined;
          }
          const { last } = await trx
            .selectFrom('approval_waiters')
            .select(({ fn }) => fn.max<string | null>('until').as('last'))
            .where('approval_id', '=', id)
            .executeTakeFirstOrThrow();
          if (last !== null && new Date(last) > now) return new Date(last);
          await endWaiting(trx, publish, [id], { status: 'withdrawn' }, now);
          return undefined;
        }),
      ),

    // Not idempotent: a repeat would find the request already decided.
    decide: (runId, id, decision, now) =>
      once((db) =>
        publishingTransaction(session, db, async (trx, publish) => {
          const run = await holdRun(trx, dialect, runId);
          const row = await trx
            .selectFrom('approvals')
            .selectAll()
            .where('id', '=', id)
            .where('run_id', '=', runId)
            .executeTakeFirst();
          if (run === undefined || row === undefined) return undefined;
          if (row.status !== 'waiting') return { decided: false, approval: toApproval(row), also: [] };
          if (new Date(row.expires_at) <= now) {
            const [expired] = await endWaiting(trx, publish, [id], { status: 'timed_out' }, now);
            return { decided: false, approval: expired ?? toApproval(row), also: [] };
          }
          const { outcome, scope, reason, by, policyId } = decision;
          const [approval = toApproval(row)] = await endWaiting(
            trx,
            publish,
            [id],
            { status: outcome, source: 'person', decided_by: by, scope, reason },
            now,
          );
          await keepDecision(trx, approval);
          if (outcome === 'denied' || scope === 'once') return { decided: true, approval, also: [] };
          const policies = trx
            .insertInto('approval_policies')
            .values({
              id: policyId,
              owner_org: run.owner_org,
              owner_user: run.owner_user,
              tool: row.tool,
              run_id: policyRun(scope, runId) ?? '',
              target_port: policyPort(scope, approval.args) ?? 0,
              created_at: instantText(now),
              created_by: by,
            })
            .onConflict((conflict) =>
              conflict.columns(['owner_org', 'owner_user', 'tool', 'run_id', 'target_port']).doNothing(),
            );
          const made = await first(policies.returningAll(), toPolicy);
          if (made !== undefined) await addAuditEvents(trx, [policyEvent('policy.created', made)]);
          return { decided: true, approval, also: await approveCovered(trx, publish, run, row.tool, now) };
        }),
      ),

    applyPolicies: (runId, tool, now) =>
      repeatable((db) =>
        publishingTransaction(session, db, async (trx, publish) => {
          const run = await holdRun(trx, dialect, runId);
          return run === undefined ? [] : approveCovered(trx, publish, run, tool, now);
        }),
      ),

    waiting: (owner, now, most) =>
      repeatable(async (db) => {
        const rows = await db
          .selectFrom('approvals')
          .innerJoin('runs', 'runs.id', 'approvals.run_id')
          .selectAll('approvals')
          .select(['runs.title', 'runs.owner_org', 'runs.owner_user'])
          .where(WAITING)
          .where('approvals.expires_at', '>', instantText(now))
          .$if(owner !== undefined, (query) => query.where(ownedBy(owner as Owner)))
          .orderBy('approvals.requested_at')
          .orderBy('approvals.id')
          .limit(most)
          .execute();
        return rows.map(({ title, owner_org: org, owner_user: user, ...row }) => {
          const { id, runId, tool, args, message, requestedAt, expiresAt } = toApproval(row);
          return {
            id,
            runId,
            tool,
            args,
            message,
            requestedAt,
            expiresAt,
            runTitle: title,
            owner: { user, org },
          };
        });
      }),

    watch: (wake) => notifier.watch(EVERY_RUN, wake),

    runsWaiting: (owner, tool) =>
      repeatable(async (db) => {
        const rows = await db
          .selectFrom('approvals')
          .innerJoin('runs', 'runs.id', 'approvals.run_id')
          .select('approvals.run_id')
          .where(WAITING)
          .where('approvals.tool', '=', tool)
          .where(ownedBy(owner))
          .execute();
        return [...new Set(rows.map((row) => row.run_id))];
      }),

    // Not idempotent: a repeat would not count the requests that the first one ended.
    timeOut: async (now, runId) => {
      let ended = 0;
      for (;;) {
        const due = await repeatable((db) =>
          db
            .selectFrom('approvals')
            .select(['id', 'run_id'])
            .where(WAITING)
            .where('expires_at', '<=', instantText(now))
            .$if(runId !== undefined, (query) => query.where('run_id', '=', runId as string))
            .limit(DUE_AT_ONCE)
            .execute(),
        );
        for (const [run, rows] of Map.groupBy(due, (row) => row.run_id)) {
          const ids = rows.map(({ id }) => id);
          const gone = await once((db) =>
            publishingTransaction(session, db, async (trx, publish) => {
              await holdRun(trx, dialect, run);
              return endWaiting(trx, publish, ids, { status: 'timed_out' }, now);
            }),
          );
          ended += gone.length;
        }
        if (due.length < DUE_AT_ONCE) return ended;
      }
    },

    take: (id, at) =>
      repeatable((db) =>
        done(
          db
            .updateTable('approvals')
            .set({ taken_at: instantText(at) })
            .where('id', '=', id)
            .where('taken_at', 'is', null),
        ),
      ),

    forget: (before) =>
      once((db) => deleted(db.deleteFrom('approvals').where('ended_at', '<', instantText(before)))),
  };
}

function runEnded({ runId }: ApprovalRequest): PortholeError {
  return new PortholeError(
    'run_ended',
    `Run ${runId} has completed, and its agent asks for nothing any more: its owner may still start the preview.`,
  );
}
