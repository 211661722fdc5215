import { sql } from 'kysely';
import type { Migration } from '../migration.ts';

/** The orders of the lists of runs and sandboxes, with and without an owner. */
export const lists: Migration = {
  name: '0023-lists',
  async up(db) {
    const title = sql`substr(lower(coalesce(title, '')), 1, 60)`;
    await sql`create index runs_by_title on runs (${title}, id)`.execute(db);
    await sql`create index runs_of_owner_by_title on runs (owner_org, owner_user, ${title}, id)`.execute(db);
    await sql`create index runs_by_status on runs (status, created_at, id)`.execute(db);
    const live = sql`where not (desired = 'destroyed' and observed = 'destroyed')`;
    for (const [name, value] of [
      ['active', sql`coalesce(last_active_at, created_at)`],
      ['shown_name', sql`lower(coalesce(name, ''))`],
    ] as const) {
      const [all, own] = [sql.id(`sandboxes_live_by_${name}`), sql.id(`sandboxes_of_owner_by_${name}`)];
      await sql`create index ${all} on sandboxes (${value}, id) ${live}`.execute(db);
      await sql`create index ${own} on sandboxes (owner_org, owner_user, ${value}, id) ${live}`.execute(db);
    }
  },
};
