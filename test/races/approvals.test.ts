import { afterAll, beforeAll, describe, test } from '@jest/globals';
import * as fc from 'fast-check';
import { openPostgresRecords } from '#adapters/sql/postgres/open-postgres-records.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/records.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { repetitions, suite } from '#test/support/suite.ts';
import { drawFates, raceApprovals } from './approval-races.ts';

/** Number of scenarios in one race. */
const APPROVALS = repetitions(200);
const seed = fc.integer();

describe(`${APPROVALS} approvals racing their time-outs, duplicates and callers that go away`, () => {
  test('end exactly once each in SQLite, and the timeline shows how', async () => {
    const records = openSqliteRecords({ file: ':memory:' });
    await records.migrate();
    try {
      await fc.assert(
        fc.asyncProperty(seed, (from) =>
          raceApprovals({ records, peer: records }, drawFates(from, APPROVALS)),
        ),
        { numRuns: 5, endOnFailure: true },
      );
    } finally {
      await records.close();
    }
  });

  suite('on two instances', postgresMissing, () => {
    let server: TestPostgres;
    let records: Records;
    let peer: Records;
    beforeAll(async () => {
      server = await startPostgres();
      [records, peer] = [openPostgresRecords({ url: server.url }), openPostgresRecords({ url: server.url })];
      await records.migrate();
    });
    afterAll(async () => {
      await Promise.all([records?.close(), peer?.close()]);
      await server?.stop();
    });

    test('end exactly once each in one PostgreSQL, and the timeline shows how', async () => {
      await fc.assert(
        fc.asyncProperty(seed, (from) => raceApprovals({ records, peer }, drawFates(from, APPROVALS))),
        { numRuns: 2, endOnFailure: true },
      );
    }, 180_000);
  });
});
