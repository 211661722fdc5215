import { type Insertable, type Selectable, sql } from 'kysely';
import type { NewSandboxRecord, Owner, SandboxRecord, SandboxRecords } from '#core/ports/records.ts';
import { instantText } from './instant.ts';
import { keysetPage } from './keyset-page.ts';
import type { SandboxesTable } from './schema.ts';
import type { SqlSession } from './sql-session.ts';

type SandboxStates = Partial<Pick<SandboxRecord, 'desired' | 'observed'>>;

export function sandboxRecords({ dialect, once, repeatable }: SqlSession): SandboxRecords {
  const set = (id: string, states: SandboxStates, generation: number | undefined) =>
    once(async (db) => {
      await db
        .updateTable('sandboxes')
        .set(states)
        .where('id', '=', id)
        .$if(generation !== undefined, (query) => query.where('generation', '=', generation as number))
        .execute();
    });
  return {
    create: (sandbox) =>
      once(async (db) => {
        const { id, ...rest } = toRow(sandbox);
        const created = await db
          .insertInto('sandboxes')
          .values({ id, ...rest })
          .onConflict((conflict) =>
            conflict
              .column('id')
              .doUpdateSet((row) => ({ ...rest, generation: row('sandboxes.generation', '+', 1) }))
              .where('sandboxes.observed', '=', 'destroyed'),
          )
          .returning('generation')
          .executeTakeFirst();
        return created?.generation;
      }),

    get: (id) =>
      repeatable(async (db) => {
        const row = await db.selectFrom('sandboxes').selectAll().where('id', '=', id).executeTakeFirst();
        return row && toRecord(row);
      }),

    // Never repeated on its own: a late `destroyed` could meet the sandbox that has reused the id.
    setDesired: (id, desired, generation) => set(id, { desired }, generation),

    setObserved: (id, observed, generation) => set(id, { observed }, generation),

    live: (page, place) =>
      repeatable((db) =>
        keysetPage(
          db
            .selectFrom('sandboxes')
            .selectAll()
            .where(LIVE)
            .$if(place !== undefined, (query) => query.where('place', '=', place as string)),
          page,
          toRecord,
        ),
      ),

    destroyedAmong: (ids) =>
      repeatable(async (db) => {
        const rows = await db
          .selectFrom('sandboxes')
          .select('id')
          .where(dialect.among('id', ids))
          .where('observed', '=', 'destroyed')
          .execute();
        return new Set(rows.map((row) => row.id));
      }),

    wantedBy: (owner, place) =>
      repeatable(async (db) => {
        const rows = await db
          .selectFrom('sandboxes')
          .selectAll()
          .where(LIVE)
          .where('place', '=', place)
          .where(ownedBy(owner))
          .where('desired', '=', 'running')
          .where('observed', '!=', 'destroyed')
          .orderBy('created_at')
          .orderBy('id')
          .limit(1_000)
          .execute();
        return rows.map(toRecord);
      }),

    countWanted: (place) =>
      repeatable(async (db) => {
        const { count } = await db
          .selectFrom('sandboxes')
          .select(({ fn }) => fn.countAll().as('count'))
          .where(LIVE)
          .where('place', '=', place)
          .where('desired', '=', 'running')
          .where('observed', '!=', 'destroyed')
          .executeTakeFirstOrThrow();
        return Number(count);
      }),

    takeWarm: (place, from, to, at, id) =>
      once(async (db) => {
        const taken = await db
          .updateTable('sandboxes')
          .set({
            owner_org: to.org,
            owner_user: to.user,
            observed: 'creating',
            created_at: instantText(at),
          })
          .where('id', '=', (builder) =>
            builder
              .selectFrom('sandboxes')
              .select('id')
              .where(LIVE)
              .where('place', '=', place)
              .where(ownedBy(from))
              .where('desired', '=', 'running')
              .where('observed', '=', 'running')
              .$if(id !== undefined, (query) => query.where('id', '=', id as string))
              .orderBy('created_at')
              .orderBy('id')
              .limit(1)
              .modifyEnd(dialect.skipLocked),
          )
          .returningAll()
          .executeTakeFirst();
        return taken && toRecord(taken);
      }),
  };
}

/** Literals and this very shape: both databases only then see that the indexes of what lives serve it. */
const LIVE = sql<boolean>`not (desired = 'destroyed' and observed = 'destroyed')`;

function ownedBy({ org, user }: Owner) {
  return sql<boolean>`owner_org = ${org} and owner_user = ${user}`;
}

function toRow(sandbox: NewSandboxRecord): Insertable<SandboxesTable> {
  return {
    id: sandbox.id,
    owner_org: sandbox.owner.org,
    owner_user: sandbox.owner.user,
    image: sandbox.image,
    place: sandbox.place,
    desired: sandbox.desired,
    observed: sandbox.observed,
    created_at: instantText(sandbox.createdAt),
  };
}

function toRecord(row: Selectable<SandboxesTable>): SandboxRecord {
  return {
    id: row.id,
    owner: { user: row.owner_user, org: row.owner_org },
    image: row.image,
    place: row.place,
    desired: row.desired,
    observed: row.observed,
    createdAt: new Date(row.created_at),
    generation: row.generation,
  };
}
