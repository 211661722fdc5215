import type { Kysely } from 'kysely';
import { type Owner, sameOwner } from '#base/clock-and-ids.ts';
import type {
  PackedSkill,
  SkillFile,
  SkillRecord,
  SkillRecords,
  SkillSummary,
} from '#core/skills/skill-store.ts';
import { all, count, deleted, first, ownedBy } from './sql-dialect.ts';
import { checkLimit } from './keyset-page.ts';
import { columnsOf, fieldsOf } from './row-fields.ts';
import type { Row, SqlSchema } from './schema.ts';
import type { SqlSession } from './sql-session.ts';

/** Columns for lists: neither files nor archives. */
const SUMMARY = ['owner_org', 'owner_user', 'name', 'description', 'digest', 'size', 'put_at'] as const;

/** Owner of the shared skills. It never matches a caller: every caller has an org and a name. */
const EVERYBODY: Owner = { org: '', user: '' };

export function skillRecords({ dialect, once, repeatable, transact }: SqlSession): SkillRecords {
  return {
    put: (skill, most) =>
      transact(async (trx) => {
        const owner = skill.owner ?? EVERYBODY;
        await dialect.lockKey(trx, JSON.stringify(['skills', owner.org, owner.user]));
        const { name, ...row } = toRow(skill);
        const own = trx.selectFrom('skills').where(ownedBy(owner));
        const known = await own.select('name').where('name', '=', name).executeTakeFirst();
        if (known !== undefined) {
          await trx.updateTable('skills').set(row).where(ownedBy(owner)).where('name', '=', name).execute();
          return 'replaced';
        }
        if ((await count(own)) >= most) return 'too_many';
        await trx
          .insertInto('skills')
          .values({ name, ...row })
          .execute();
        return 'added';
      }),

    find: (owner, names) =>
      repeatable(async (db) =>
        names.length === 0 ? [] : all(usable(db, owner, names).select(SUMMARY), toSummary),
      ),

    load: (owner, names) =>
      repeatable(async (db) =>
        names.length === 0 ? [] : all(usable(db, owner, names).selectAll(), toPacked),
      ),

    get: (owner, name) =>
      repeatable((db) => first(usable(db, owner, [name]).select([...SUMMARY, 'files']), toSkill)),

    list: (owner, { limit, after }) =>
      repeatable(async (db) => {
        checkLimit(limit);
        const rows = await usable(db, owner)
          .select(SUMMARY)
          .$if(after !== undefined, (query) => query.where('name', '>', after as string))
          .orderBy('name')
          // One more than requested shows whether another page follows.
          .limit(limit + 1)
          .execute();
        const items = rows.slice(0, limit).map(toSummary);
        return { items, next: rows.length > limit ? (items.at(-1)?.name ?? null) : null };
      }),

    // Not idempotent: a repeat would report that it does not exist.
    delete: (owner, name) =>
      once(async (db) => {
        const skill = db
          .deleteFrom('skills')
          .where(ownedBy(owner ?? EVERYBODY))
          .where('name', '=', name);
        return (await deleted(skill)) > 0;
      }),
  };
}

/** The owner's skills, and shared skills without an own skill of the same name. */
function usable(db: Kysely<SqlSchema>, owner: Owner, names?: readonly string[]) {
  const ownNames = db.selectFrom('skills').select('name').where(ownedBy(owner));
  return db
    .selectFrom('skills')
    .where((where) =>
      where.or([ownedBy(owner), where.and([ownedBy(EVERYBODY), where.eb('name', 'not in', ownNames)])]),
    )
    .$if(names !== undefined, (query) => query.where('name', 'in', names as string[]));
}

function toRow(skill: PackedSkill): Row<'skills'> {
  const owned = { ...skill, owner: skill.owner ?? EVERYBODY };
  const names = ['owner', 'name', 'description', 'digest', 'size', 'archive', 'putAt'] as const;
  return { ...columnsOf(owned, names), files: JSON.stringify(skill.files) };
}

function toSummary(row: Pick<Row<'skills'>, (typeof SUMMARY)[number]>): SkillSummary {
  const { owner, ...skill } = fieldsOf(row);
  return { ...skill, owner: sameOwner(owner, EVERYBODY) ? null : owner };
}

function toSkill(row: Pick<Row<'skills'>, (typeof SUMMARY)[number] | 'files'>): SkillRecord {
  return { ...toSummary(row), files: JSON.parse(row.files) as SkillFile[] };
}

function toPacked(row: Row<'skills'>): PackedSkill {
  return { ...toSkill(row), archive: row.archive };
}
