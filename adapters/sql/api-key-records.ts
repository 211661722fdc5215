import type { ApiKeyRecord, ApiKeyRecords } from '#core/auth/api-key-store.ts';
import { addAuditEvents } from './audit-records.ts';
import { notifyingTransaction } from './publishing-transaction.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import type { Row } from './schema.ts';
import { all, count, deleted, done, first, instantText, ownedBy } from './sql-dialect.ts';
import type { SqlSession } from './sql-session.ts';

const MAX_LISTED = 1_000;
const FIELDS = [
  'id',
  'owner',
  'name',
  'scope',
  'admin',
  'issuer',
  'prefix',
  'digest',
  'createdAt',
  'expiresAt',
  'lastUsedAt',
] as const;

export function apiKeyRecords(session: SqlSession): ApiKeyRecords {
  const { dialect, notifier, once, repeatable, transact } = session;
  return {
    create: (key, most) =>
      transact(async (trx) => {
        const { org, user } = key.owner;
        await dialect.lockKey(trx, JSON.stringify(['api keys', org, user]));
        if ((await count(trx.selectFrom('api_keys').where(ownedBy(key.owner)))) >= most) return false;
        await trx.insertInto('api_keys').values(columnsOf(key, FIELDS)).execute();
        const data = { name: key.name, scope: key.scope, expires_at: instantText(key.expiresAt) };
        await addAuditEvents(trx, [
          { type: 'key.created', subject: `key/${key.id}`, owner: key.owner, data },
        ]);
        return true;
      }),

    get: (id) =>
      repeatable((db) => first(db.selectFrom('api_keys').selectAll().where('id', '=', id), toRecord)),

    findByDigest: (digest) =>
      repeatable((db) => first(db.selectFrom('api_keys').selectAll().where('digest', '=', digest), toRecord)),

    list: (owner) =>
      repeatable((db) => {
        const newest = db
          .selectFrom('api_keys')
          .selectAll()
          .orderBy('created_at', 'desc')
          .orderBy('id', 'desc')
          .limit(MAX_LISTED);
        return all(owner === undefined ? newest : newest.where(ownedBy(owner)), toRecord);
      }),

    markUsed: (id, at, notSince) =>
      repeatable((db) =>
        done(
          db
            .updateTable('api_keys')
            .set({ last_used_at: instantText(at) })
            .where('id', '=', id)
            .where((row) =>
              row.or([row('last_used_at', 'is', null), row('last_used_at', '<=', instantText(notSince))]),
            ),
        ),
      ),

    revoke: (id) =>
      once((db) =>
        notifyingTransaction(session, db, async (trx, notify) => {
          const revoked = await first(
            trx.deleteFrom('api_keys').where('id', '=', id).returningAll(),
            toRecord,
          );
          if (revoked === undefined) return false;
          const { owner, name } = revoked;
          await addAuditEvents(trx, [{ type: 'key.revoked', subject: `key/${id}`, owner, data: { name } }]);
          await notify(id);
          return true;
        }),
      ),

    forget: (before) =>
      repeatable((db) => deleted(db.deleteFrom('api_keys').where('expires_at', '<', instantText(before)))),

    watch: (id, wake) => notifier.watch(id, wake),
  };
}

function toRecord(row: Row<'api_keys'>): ApiKeyRecord {
  const { admin, ...key } = fieldsOf(row);
  return { ...key, admin: admin === 1 };
}
