import type { Kysely } from 'kysely';
import { type NewAuditEvent, previewSubject } from '#core/audit/audit-event.ts';
import type { AccessRecords, PortAccess, PreviewBlock, PreviewLink } from '#core/previews/access-store.ts';
import { addAuditEvents, ownerIn } from './audit-records.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import type { Row, SqlSchema } from './schema.ts';
import { all, count, deleted, first, instantText } from './sql-dialect.ts';
import { inTransaction, type SqlSession } from './sql-session.ts';

const LINK_FIELDS = [
  'id',
  'runId',
  'targetPort',
  'label',
  'level',
  'digest',
  'password',
  'mayWake',
  'uses',
  'maxUses',
  'createdBy',
  'createdAt',
  'expiresAt',
  'lastUsedAt',
] as const;

/** How pseudonyms of visitors without a name begin. */
const ANONYMOUS = 'visitor-';

export function accessRecords({ dialect, once, repeatable, transact }: SqlSession): AccessRecords {
  return {
    get: (runId, targetPort) => repeatable((db) => first(ofPort(db, runId, targetPort), toAccess)),

    change: (runId, targetPort, to) =>
      transact(async (trx) => {
        await dialect.lockKey(trx, JSON.stringify(['preview access', runId, targetPort]));
        const known = await first(ofPort(trx, runId, targetPort), toAccess);
        const changed = to(known);
        if (changed === known) return changed;
        const { level, epoch, revoked, password } = changed;
        const access = { level, epoch, revoked: JSON.stringify(revoked), password };
        await trx
          .insertInto('preview_access')
          .values({ run_id: runId, target_port: targetPort, ...access })
          .onConflict((conflict) => conflict.columns(['run_id', 'target_port']).doUpdateSet(access))
          .execute();
        const subject = previewSubject(runId, targetPort);
        const owner = await ownerIn(trx, 'runs', runId);
        await addAuditEvents(trx, [
          { type: 'preview.access_changed', subject, owner, data: { level, epoch } },
        ]);
        return changed;
      }),

    addLink: (link, most) =>
      transact(async (trx) => {
        const { runId, targetPort } = link;
        await dialect.lockKey(trx, JSON.stringify(['preview links', runId, targetPort]));
        const present = trx
          .selectFrom('preview_links')
          .where('run_id', '=', runId)
          .where('target_port', '=', targetPort);
        if ((await count(present)) >= most) return false;
        const made = await trx
          .insertInto('preview_links')
          .values(columnsOf(link, LINK_FIELDS))
          .onConflict((conflict) => conflict.column('id').doNothing())
          .returning('id')
          .executeTakeFirst();
        if (made !== undefined)
          await addAuditEvents(trx, [await linkEvent(trx, 'preview.link_created', link)]);
        return true;
      }),

    link: (id) =>
      repeatable((db) => first(db.selectFrom('preview_links').selectAll().where('id', '=', id), toLink)),

    links: (runId, targetPort) =>
      repeatable((db) =>
        all(
          db
            .selectFrom('preview_links')
            .selectAll()
            .where('run_id', '=', runId)
            .where('target_port', '=', targetPort)
            .orderBy('id'),
          toLink,
        ),
      ),

    // Not idempotent: a repeat would count twice.
    useLink: (id, at) =>
      once(async (db) => {
        const used = await db
          .updateTable('preview_links')
          .set((row) => ({ uses: row('uses', '+', 1), last_used_at: instantText(at) }))
          .where('id', '=', id)
          .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', instantText(at))]))
          .where((row) => row.or([row('max_uses', 'is', null), row('uses', '<', row.ref('max_uses'))]))
          .executeTakeFirst();
        return used.numUpdatedRows > 0n;
      }),

    removeLink: (id) =>
      transact(async (trx) => {
        const removed = trx.deleteFrom('preview_links').where('id', '=', id).returningAll();
        const link = await first(removed, toLink);
        if (link === undefined) return false;
        await addAuditEvents(trx, [await linkEvent(trx, 'preview.link_revoked', link)]);
        return true;
      }),

    addVisit: ({ runId, targetPort, viewer, linkId }, at, most) =>
      repeatable((db) =>
        inTransaction(db, async (trx) => {
          const last = { last_at: instantText(at) };
          const port = { run_id: runId, target_port: targetPort };
          await trx
            .insertInto('preview_visits')
            .values({ ...port, viewer, link_id: linkId, first_at: instantText(at), ...last })
            .onConflict((conflict) =>
              conflict.columns(['run_id', 'target_port', 'viewer', 'link_id']).doUpdateSet(last),
            )
            .execute();
          const like = viewer.startsWith(ANONYMOUS) ? 'like' : 'not like';
          const tooMany = visitsOf(trx, runId, targetPort)
            .where('link_id', '=', linkId)
            .where('viewer', like, `${ANONYMOUS}%`)
            .select('last_at')
            .limit(1)
            .offset(most);
          await trx
            .deleteFrom('preview_visits')
            .where('run_id', '=', runId)
            .where('target_port', '=', targetPort)
            .where('link_id', '=', linkId)
            .where('viewer', like, `${ANONYMOUS}%`)
            .where('last_at', '<=', tooMany)
            .execute();
        }),
      ),

    hasVisited: ({ runId, targetPort, viewer, linkId }) =>
      repeatable(async (db) => {
        const found = await db
          .selectFrom('preview_visits')
          .select('viewer')
          .where('run_id', '=', runId)
          .where('target_port', '=', targetPort)
          .where('viewer', '=', viewer)
          .where('link_id', '=', linkId)
          .executeTakeFirst();
        return found !== undefined;
      }),

    visits: (runId, targetPort, most) =>
      repeatable(async (db) => {
        const of = visitsOf(db, runId, targetPort).selectAll().limit(most);
        const people = await all(of.where('viewer', 'not like', `${ANONYMOUS}%`), fieldsOf);
        const others = await all(of.where('viewer', 'like', `${ANONYMOUS}%`), fieldsOf);
        const kept = [...people, ...others].slice(0, most);
        return kept.toSorted((a, b) => b.lastAt.getTime() - a.lastAt.getTime());
      }),

    blockOf: ({ org, user }) =>
      repeatable((db) =>
        first(
          db
            .selectFrom('preview_blocks')
            .selectAll()
            .where('owner_org', '=', org)
            .where('owner_user', '=', user),
          toBlock,
        ),
      ),

    putBlock: ({ owner, reason, by, at }) =>
      repeatable(async (db) => {
        const block = { reason, blocked_by: by, blocked_at: instantText(at) };
        await db
          .insertInto('preview_blocks')
          .values({ owner_org: owner.org, owner_user: owner.user, ...block })
          .onConflict((conflict) => conflict.columns(['owner_org', 'owner_user']).doUpdateSet(block))
          .execute();
      }),

    removeBlock: ({ org, user }) =>
      once(async (db) => {
        const block = db
          .deleteFrom('preview_blocks')
          .where('owner_org', '=', org)
          .where('owner_user', '=', user);
        return (await deleted(block)) > 0;
      }),

    blocks: (most) =>
      repeatable((db) =>
        all(db.selectFrom('preview_blocks').selectAll().orderBy('blocked_at', 'desc').limit(most), toBlock),
      ),

    addWake: ({ owner: { org, user }, linkId, at }, since, { perLink, perOwner }) =>
      transact(async (trx) => {
        await dialect.lockKey(trx, JSON.stringify(['preview wakes', org, user]));
        const ofOwner = trx
          .selectFrom('preview_wakes')
          .where('owner_org', '=', org)
          .where('owner_user', '=', user)
          .where('at', '>', instantText(since));
        if ((await count(ofOwner)) >= perOwner) return false;
        if (linkId !== '' && (await count(ofOwner.where('link_id', '=', linkId))) >= perLink) return false;
        await trx
          .insertInto('preview_wakes')
          .values({ owner_org: org, owner_user: user, link_id: linkId, at: instantText(at) })
          .execute();
        return true;
      }),

    forget: (before) =>
      repeatable((db) =>
        inTransaction(db, async (trx) => {
          const until = instantText(before);
          await trx.deleteFrom('preview_wakes').where('at', '<', until).execute();
          const links = await deleted(trx.deleteFrom('preview_links').where('expires_at', '<', until));
          return links + (await deleted(trx.deleteFrom('preview_visits').where('last_at', '<', until)));
        }),
      ),
  };
}

async function linkEvent(
  trx: Kysely<SqlSchema>,
  type: 'preview.link_created' | 'preview.link_revoked',
  { id, runId, targetPort, label, level }: PreviewLink,
): Promise<NewAuditEvent> {
  const subject = previewSubject(runId, targetPort);
  const owner = await ownerIn(trx, 'runs', runId);
  return { type, subject, owner, data: { link_id: id, label, level } };
}

function toLink(row: Row<'preview_links'>): PreviewLink {
  const { mayWake, ...link } = fieldsOf(row);
  return { ...link, mayWake: mayWake === 1 };
}

function toBlock({
  owner_org,
  owner_user,
  reason,
  blocked_by,
  blocked_at,
}: Row<'preview_blocks'>): PreviewBlock {
  return {
    owner: { org: owner_org, user: owner_user },
    reason,
    by: blocked_by,
    at: new Date(blocked_at),
  };
}

function toAccess({ level, epoch, revoked, password }: Row<'preview_access'>): PortAccess {
  return { level, epoch, revoked: JSON.parse(revoked) as string[], password };
}

function ofPort(db: Kysely<SqlSchema>, runId: string, targetPort: number) {
  return db
    .selectFrom('preview_access')
    .selectAll()
    .where('run_id', '=', runId)
    .where('target_port', '=', targetPort);
}

/** The last first. */
function visitsOf(db: Kysely<SqlSchema>, runId: string, targetPort: number) {
  return db
    .selectFrom('preview_visits')
    .where('run_id', '=', runId)
    .where('target_port', '=', targetPort)
    .orderBy('last_at', 'desc');
}
