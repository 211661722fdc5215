import type { ArchiveRecord, ArchiveRecords } from '#core/archives/archive-store.ts';
import { deleted, first, ownedBy } from './sql-dialect.ts';
import { keysetPage } from './keyset-page.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
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

function toRow(archive: ArchiveRecord): Row<'archives'> {
  const { id, generation, name, image } = archive.sandbox;
  return {
    ...columnsOf(archive, ['id', 'owner', 'size', 'leftOut', 'createdAt']),
    sandbox_id: id,
    generation,
    name,
    image,
    object_key: archive.key,
  };
}

function toRecord(row: Row<'archives'>): ArchiveRecord {
  const { sandboxId, generation, name, image, objectKey, ...archive } = fieldsOf(row);
  const sandbox = { id: sandboxId, generation, name, image };
  return { ...archive, sandbox, key: objectKey, size: Number(row.size) };
}
