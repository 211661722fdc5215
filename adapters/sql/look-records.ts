import { createHash } from 'node:crypto';
import type { KeptLook, LookRecords } from '#core/pages/look-store.ts';
import type { Picture } from '#core/pages/page-browser.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { OwnerSeals } from './owner-seals.ts';
import { holdRun } from './publishing-transaction.ts';
import type { Row } from './schema.ts';
import { all, deleted, instantText } from './sql-dialect.ts';
import type { SqlSession } from './sql-session.ts';

const WHAT = 'a look';
/** All but the picture. */
const COLUMNS = ['id', 'run_id', 'page', 'at', 'content'] as const;

type Content = Omit<KeptLook, 'id' | 'runId' | 'at'>;
type LookRow = Pick<Row<'looks'>, (typeof COLUMNS)[number]>;

export function lookRecords(
  { dialect, repeatable, transact }: SqlSession,
  { seal, open }: OwnerSeals,
): LookRecords {
  /** Empty for a look that no key opens. */
  const toLook = (row: LookRow, owner: Owner): readonly KeptLook[] => {
    const json = open('looks.content', owner, row.content, WHAT);
    if (json === undefined) return [];
    return [{ id: row.id, runId: row.run_id, at: new Date(row.at), ...(JSON.parse(json) as Content) }];
  };
  const withPicture = (row: Row<'looks'> | undefined, owner: Owner) => {
    const [look] = row === undefined ? [] : toLook(row, owner);
    const json = row?.picture && open('looks.picture', owner, row.picture, WHAT);
    return look && { ...look, picture: json ? (JSON.parse(json) as Picture) : null };
  };
  return {
    add: ({ id, runId, at, picture, ...content }, { owner, most, pictures }) =>
      transact(async (trx) => {
        if ((await holdRun(trx, dialect, runId)) === undefined) return;
        await trx
          .insertInto('looks')
          .values({
            id,
            run_id: runId,
            page: pageOf(content),
            at: instantText(at),
            content: seal('looks.content', owner, JSON.stringify(content satisfies Content)),
            picture: picture && seal('looks.picture', owner, JSON.stringify(picture)),
          })
          .execute();
        const looks = trx.selectFrom('looks').select('id').where('run_id', '=', runId);
        const newest = await all(looks.orderBy('at', 'desc').orderBy('id', 'desc'), (row) => row.id);
        await trx
          .deleteFrom('looks')
          .where(dialect.among('id', newest.slice(most)))
          .execute();
        await trx
          .updateTable('looks')
          .set({ picture: null })
          .where(dialect.among('id', newest.slice(pictures, most)))
          .where('picture', 'is not', null)
          .execute();
      }),

    list: (runId, owner, since) =>
      repeatable(async (db) => {
        const rows = await db
          .selectFrom('looks')
          .select(COLUMNS)
          .where('run_id', '=', runId)
          .where('at', '>=', instantText(since))
          .orderBy('at', 'desc')
          .orderBy('id', 'desc')
          .execute();
        return rows.flatMap((row) => toLook(row, owner));
      }),

    get: (runId, id, owner) =>
      repeatable(async (db) => {
        const row = await db
          .selectFrom('looks')
          .selectAll()
          .where('run_id', '=', runId)
          .where('id', '=', id)
          .executeTakeFirst();
        return withPicture(row, owner);
      }),

    last: (of, owner, since) =>
      repeatable(async (db) => {
        const row = await db
          .selectFrom('looks')
          .selectAll()
          .where('run_id', '=', of.runId)
          .where('page', '=', pageOf(of))
          .where('at', '>=', instantText(since))
          .orderBy('at', 'desc')
          .orderBy('id', 'desc')
          .limit(1)
          .executeTakeFirst();
        return withPicture(row, owner);
      }),

    forget: (before) =>
      repeatable((db) => deleted(db.deleteFrom('looks').where('at', '<', instantText(before)))),
  };
}

/** Equal for looks at the same page in the same way. A digest: a path may hold secrets. */
function pageOf({
  port,
  visit: { path, viewport, steps, picture },
}: Pick<KeptLook, 'port' | 'visit'>): string {
  const { width, height, scale, mobile } = viewport;
  const text = JSON.stringify([port, path, width, height, scale, mobile, steps, picture?.fullPage]);
  return createHash('sha256').update(text).digest('hex');
}
