import type { ArchiveRecord, ArchiveRecords } from '#core/archives/archive-store.ts';
import { deleted, first, instantText, ownedBy } from './sql-dialect.ts';
import { keysetPage } from './keyset-page.ts';
import type { Row } from './schema.ts';
import type { SqlSession } from './sql-session.ts';

export function archiveRecords({ once, repeatable }: SqlSession): ArchiveRecords {
  return {
    put: (archive) =>
      repeatable(async (db) => {
        const { id, ...rest } = toRow(archive);
        await db
          .insertInto('archives')
          .values({ id, ...rest })
          .onConflict((conflict) => conflict.column('id').doUpdateSet(rest))
          .execute();
      }),

    get: (id) =>
      repeatable((db) => first(db.selectFrom('archives').selectAll().where('id', '=', id), toRecord)),

    list: (owner, page, sandboxId) =>
      repeatable((db) => {
        let query = db.selectFrom('archives').selectAll();
        if (owner !== undefined) query = query.where(ownedBy(owner));
        if (sandboxId !== undefined) query = query.where('sandbox_id', '=', sandboxId);
        return keysetPage(query, page, toRecord);
      }),

    remove: (id) => once(async (db) => (await deleted(db.deleteFrom('archives').where('id', '=', id))) > 0),
  };
}

function toRow({ id, sandbox, owner, key, size, leftOut, createdAt }: ArchiveRecord): Row<'archives'> {
  return {
    id,
    sandbox_id: sandbox.id,
    generation: sandbox.generation,
    name: sandbox.name,
    image: sandbox.image,
    owner_user: owner.user,
    owner_org: owner.org,
    object_key: key,
    size,
    left_out: leftOut,
    created_at: instantText(createdAt),
  };
}

function toRecord(row: Row<'archives'>): ArchiveRecord {
  return {
    id: row.id,
    sandbox: { id: row.sandbox_id, generation: row.generation, name: row.name, image: row.image },
    owner: { user: row.owner_user, org: row.owner_org },
    key: row.object_key,
    size: Number(row.size),
    leftOut: row.left_out,
    createdAt: new Date(row.created_at),
  };
}
