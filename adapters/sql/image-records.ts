import type { Selectable } from 'kysely';
import type { CatalogueImage, ImageRecords, ImageResources } from '#core/images/image-store.ts';
import { deleted, first, instantText } from './sql-dialect.ts';
import type { ImagesTable } from './schema.ts';
import { inTransaction, type SqlSession } from './sql-session.ts';

const MOST = 1_000;

export function imageRecords({ once, repeatable }: SqlSession): ImageRecords {
  return {
    // Not idempotent: a repeat would report that it is not new.
    put: ({ name, languages, resources, ...rest }, at) =>
      once((db) =>
        inTransaction(db, async (trx) => {
          const row = {
            ...rest,
            languages: JSON.stringify(languages),
            resources: JSON.stringify(resources),
            put_at: instantText(at),
          };
          const { numInsertedOrUpdatedRows } = await trx
            .insertInto('images')
            .values({ name, ...row })
            .onConflict((conflict) => conflict.column('name').doNothing())
            .executeTakeFirstOrThrow();
          if (numInsertedOrUpdatedRows === 1n) return true;
          await trx.updateTable('images').set(row).where('name', '=', name).execute();
          return false;
        }),
      ),

    get: (name) =>
      repeatable((db) => first(db.selectFrom('images').selectAll().where('name', '=', name), toImage)),

    list: () =>
      repeatable(async (db) => {
        const rows = await db.selectFrom('images').selectAll().orderBy('name').limit(MOST).execute();
        return rows.map(toImage);
      }),

    // Not idempotent: a repeat would report that it does not exist.
    delete: (name) =>
      once(async (db) => (await deleted(db.deleteFrom('images').where('name', '=', name))) > 0),
  };
}

function toImage({
  name,
  reference,
  description,
  languages,
  resources,
}: Selectable<ImagesTable>): CatalogueImage {
  return {
    name,
    reference,
    description,
    languages: JSON.parse(languages) as string[],
    resources: JSON.parse(resources) as ImageResources,
  };
}
