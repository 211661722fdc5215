import type { CatalogueImage, ImageRecords, ImageResources } from '#core/images/image-store.ts';
import { all, deleted, first, instantText } from './sql-dialect.ts';
import type { Row } from './schema.ts';
import type { SqlSession } from './sql-session.ts';

const MAX_IMAGES = 1_000;

export function imageRecords({ once, repeatable, transact }: SqlSession): ImageRecords {
  return {
    // Not idempotent: a repeat would report that it is not new.
    put: ({ name, languages, resources, ...rest }, at) =>
      transact(async (trx) => {
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

    get: (name) =>
      repeatable((db) => first(db.selectFrom('images').selectAll().where('name', '=', name), toImage)),

    list: () =>
      repeatable((db) => all(db.selectFrom('images').selectAll().orderBy('name').limit(MAX_IMAGES), toImage)),

    // Not idempotent: a repeat would report that it does not exist.
    delete: (name) =>
      once(async (db) => (await deleted(db.deleteFrom('images').where('name', '=', name))) > 0),
  };
}

function toImage(row: Row<'images'>): CatalogueImage {
  const { put_at: _, languages, resources, ...image } = row;
  return {
    ...image,
    languages: JSON.parse(languages) as string[],
    resources: JSON.parse(resources) as ImageResources,
  };
}
