import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { Client } from 'pg';
import { connectionPool } from '#adapters/sql/postgres/connection-pool.ts';
import { openPostgresRecords } from '#adapters/sql/postgres/open-postgres-records.ts';
import type { ApprovalRequest } from '#core/approvals/approval-store.ts';
import type { NewEvent } from '#core/runs/timeline.ts';
import type { Tombstone } from '#core/previews/preview-records.ts';
import type { Records } from '#core/records.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';
import { CuttableLine } from './cuttable-line.ts';
import { aRun } from '#test/contracts/records/samples.ts';

const AT = new Date('2026-03-01T12:00:00.000Z');
const BROKEN = {
  code: 'service_unavailable',
  message: 'the connection to the records database is broken: try again',
};
const STONE: Tombstone = { tokenSha256: 'a'.repeat(64), runId: 'run_1', reason: 'stopped', at: AT };

/** With its terminator, because a transaction begins with `read committed`. */
const COMMIT = 'commit\0';
const REPORTED: NewEvent = { type: 'preview.kept', key: 'kept', data: {} };
const REQUEST: ApprovalRequest = {
  id: 'apr_1',
  runId: 'run_1',
  tool: 'start_preview',
  args: { target_port: 3000 },
  message: 'Open it?',
  requestedAt: AT,
  expiresAt: new Date(AT.getTime() + 300_000),
};
const BOUNDS = { keptSince: new Date(0), since: new Date(0), most: 9 };

function run(id: string): RunRecord {
  return aRun(id, { createdAt: AT });
}

suite('records when PostgreSQL fails', postgresMissing, () => {
  let server: TestPostgres;
  let admin: Client;
  let line: CuttableLine;
  let records: Records;
  let url: URL;
  let warnings: string[];
  let schemas = 0;

  beforeAll(async () => {
    server = await startPostgres();
    admin = new Client({ connectionString: server.socketUrl });
    await admin.connect();
  });
  afterAll(async () => {
    await admin.end();
    await server.stop();
  });
  beforeEach(async () => {
    line = await CuttableLine.to(Number(new URL(server.url).port));
    const schema = `faults_${(schemas += 1)}`;
    await admin.query(`create schema ${schema}; set search_path = ${schema}`);
    url = new URL(server.url);
    url.port = String(line.port);
    url.searchParams.set('options', `-c search_path=${schema}`);
    warnings = [];
    records = open(url.href);
    await records.migrate();
  });
  afterEach(async () => {
    await records.close();
    await line.close();
  });

  function open(href: string): Records {
    return openPostgresRecords({
      url: href,
      poolSize: 2,
      log: { warn: (fields, message) => warnings.push(`${message} ${inspect(fields, { depth: 9 })}`) },
    });
  }

  async function killListener(): Promise<void> {
    const { rowCount } = await admin.query(
      "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'porthole' and query like 'listen %'",
    );
    expect(rowCount).toBe(1);
  }

  async function killBackends(): Promise<void> {
    await admin.query(
      "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'porthole'",
    );
  }

  test('outlive the end of idle connections, and say so', async () => {
    await records.runs.create(run('run_1'));
    await line.cut();
    expect(await records.runs.get('run_1')).toEqual(run('run_1'));
    await killBackends();
    expect(await records.runs.get('run_1')).toEqual(run('run_1'));
    expect(warnings.join('\n')).toContain('the connection to the records database is broken');
  });

  test.each<[string, string, (records: Records) => Promise<unknown>, unknown]>([
    ['reading', 'select', ({ runs }) => runs.get('run_1'), run('run_1')],
    [
      'listing',
      'select',
      ({ runs }) => runs.list(undefined, { limit: 1 }),
      { items: [run('run_1')], next: null },
    ],
    [
      'completing',
      'update',
      ({ runs }) => runs.complete('run_1', AT),
      { ...run('run_1'), status: 'completed', completedAt: AT },
    ],
    ['the commit of ending', COMMIT, ({ previews }) => previews.end('run_1', 1, 0, STONE), 1],
    ['the first half of ending', 'insert', ({ previews }) => previews.end('run_1', 1, 0, STONE), 1],
    ['burying', COMMIT, ({ previews }) => previews.bury([STONE]), undefined],
    [
      'migrating',
      COMMIT,
      async (each) => {
        await admin.query(`drop schema faults_${schemas} cascade; create schema faults_${schemas}`);
        await each.migrate();
      },
      undefined,
    ],
    ['reading what is migrated', 'schema_expansions', (each) => each.migrate(), undefined],
    ['telling', COMMIT, ({ timeline }) => timeline.append('run_1', [REPORTED], AT), undefined],
    [
      'asking',
      COMMIT,
      async ({ approvals }) => (await approvals.ask(REQUEST, { id: 'w', until: AT }, BOUNDS)).status,
      'waiting',
    ],
  ])('repeat %s when the answer is lost', async (_, text, work, result) => {
    await records.runs.create(run('run_1'));
    line.loseAnswerTo(text);
    expect(await work(records)).toEqual(result);
    expect(line.lost).toBe(true);
    expect(await records.previews.generation('run_1', 1)).toBeLessThanOrEqual(1);
  });

  test('leave a creation with a lost answer to the caller, and do not repeat it', async () => {
    line.loseAnswerTo(COMMIT);
    await expect(records.runs.create(run('run_1'))).rejects.toMatchObject({
      ...BROKEN,
      cause: { message: 'Connection terminated unexpectedly' },
    });
    expect(await records.runs.get('run_1')).toEqual(run('run_1'));
    line.loseAnswerTo('update');
    await expect(records.sandboxes.setObserved('box', 'destroyed')).rejects.toMatchObject(BROKEN);
    line.loseAnswerTo('delete');
    await expect(records.previews.forget(AT)).rejects.toMatchObject(BROKEN);
  });

  test('tell and ask once, although the answer to the first time was lost', async () => {
    await records.runs.create(run('run_1'));
    line.loseAnswerTo(COMMIT);
    await records.timeline.append('run_1', [REPORTED], AT);
    line.loseAnswerTo(COMMIT);
    await records.approvals.ask(REQUEST, { id: 'w', until: AT }, BOUNDS);
    const { events } = await records.timeline.read('run_1', { after: 0, limit: 10 });
    expect(events.map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'preview.kept'],
      [2, 'tool.approval_required'],
    ]);
  });

  test('leave a decision with a lost answer to the caller, and do not repeat it', async () => {
    await records.runs.create(run('run_1'));
    const { id } = await records.approvals.ask(REQUEST, { id: 'w', until: AT }, BOUNDS);
    const decide = () =>
      records.approvals.decide(
        'run_1',
        id,
        { outcome: 'denied', scope: 'once', reason: null, by: 'alice', policyId: 'pol_1' },
        AT,
      );
    line.loseAnswerTo(COMMIT);
    await expect(decide()).rejects.toMatchObject(BROKEN);
    expect(records.isAnswering()).toBe(false);
    expect(await decide()).toMatchObject({ decided: false, approval: { status: 'denied' } });
    expect(records.isAnswering()).toBe(true);
  });

  test('notify watchers once the listening connection is back, and listen again', async () => {
    await records.runs.create(run('run_1'));
    const reported = async () =>
      (await records.timeline.read('run_1', { after: 0, limit: 10 })).events.length;
    let woken = () => {};
    const wake = () => new Promise<void>((resolve) => (woken = resolve));
    const until = async (holds: () => Promise<boolean>) => {
      for (let next = wake(); !(await holds()); next = wake()) await next;
    };
    const listening = wake();
    const end = records.timeline.watch('run_1', () => woken());
    await listening;
    // This event sends no notification, as if it came while the connection was broken.
    const schema = url.searchParams.get('options')?.split('=')[1];
    await admin.query(
      `insert into ${schema}.run_events values ('run_1', 1, 'preview.kept', '${AT.toISOString()}', '{}', null)`,
    );
    const back = wake();
    await killListener();
    await back;
    expect(await reported()).toBe(1);
    const heard = until(async () => (await reported()) === 2);
    await records.timeline.append('run_1', [REPORTED], AT);
    await heard;
    end();
    expect(warnings.join('\n')).toContain('the LISTEN connection for run events failed');
  });

  test('outlive the end of a connection in the middle of a transaction', async () => {
    // Its lock makes the transaction wait at its second statement, where it is then killed.
    await records.previews.bury([STONE]);
    await admin.query('begin');
    await admin.query('select * from preview_tombstones for update');
    const ending = records.previews.end('run_1', 1, 0, STONE);
    await waitForLock();
    await killBackends();
    // The retry waits for the same lock.
    await admin.query('commit');
    expect(await ending).toBe(1);
    expect(await records.previews.generation('run_1', 1)).toBe(1);
    expect(warnings.join('\n')).toContain('terminating connection due to administrator command');
  });

  test('do not use a connection again on which an answer did not come in time', async () => {
    const pool = connectionPool({ url: url.href, size: 1, queryTimeoutMs: 100 });
    const slow = await pool.connect();
    await expect(slow.query('select pg_sleep(60)', [])).rejects.toThrow('Query read timeout');
    await expect(slow.query('rollback', [])).rejects.toThrow('Query read timeout');
    slow.release();
    const next = await pool.connect();
    expect((await next.query('select 1 as one', [])).rows).toEqual([{ one: 1 }]);
    next.release();
    await pool.end();
  });

  test('go again after a deadlock, from which the database saves one side', async () => {
    await records.previews.bury([STONE]);
    await admin.query('begin');
    await admin.query('select * from preview_tombstones for update');
    const ending = records.previews.end('run_1', 1, 0, STONE);
    await waitForLock();
    // The other half of the deadlock. Our side detects it, because this one checks later.
    await admin.query("set local deadlock_timeout = '30s'; lock table preview_generations");
    await admin.query('commit');
    expect(await ending).toBe(1);
    expect(warnings.join('\n')).toContain('deadlock detected');
  });

  test('show no password when there is no answer, when it is wrong and when the URL is invalid', async () => {
    const secret = 's3cret-99';
    const wrong = new URL(url.href);
    wrong.password = secret;
    const closed = new URL(wrong.href);
    closed.port = '1';
    for (const [href, expected] of [
      [
        wrong.href,
        { code: 'service_unavailable', message: /^the records database does not take requests now/ },
      ],
      [
        closed.href,
        { code: 'service_unavailable', message: /^the connection to the records database is broken/ },
      ],
      [
        `postgres://u:${secret}@[/x`,
        { code: 'invalid_request', message: /^the URL of the records database/ },
      ],
      [
        `postgres://u:${secret}/@h:x/d`,
        { code: 'invalid_request', message: /^the URL of the records database/ },
      ],
      [
        `postgres://u:${secret}@h/d?sslrootcert=/none/ca.crt`,
        {
          code: 'invalid_request',
          message:
            /^sslrootcert in the URL of the records database names \/none\/ca\.crt, which cannot be read \(ENOENT\)/,
        },
      ],
    ] as const) {
      const failing = open(href);
      const error: unknown = await failing.migrate().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: expected.code, message: expect.stringMatching(expected.message) });
      expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain(secret);
      await failing.close();
    }
    expect(warnings.join('\n')).not.toContain(secret);
    expect(() => openPostgresRecords({ url: `mysql://u:${secret}@h/d` })).toThrow(
      expect.objectContaining({
        message: 'the URL of the records database must begin with postgres:// or postgresql://',
      }),
    );
  });

  test('hold every text in a column that is compared byte by byte', async () => {
    const { rows } = await admin.query<{ name: string; collation: string | null }>(
      `select table_name || '.' || column_name as name, collation_name as collation
       from information_schema.columns where table_schema = current_schema() and data_type = 'text'`,
    );
    expect(rows.length).toBeGreaterThan(15);
    expect(rows.filter(({ collation }) => collation !== 'C')).toEqual([]);
  });

  test('work by a unix socket, and under a database that is stricter by default', async () => {
    const name = `strict_${schemas}`;
    await admin.query(`create database ${name}`);
    await admin.query(`alter database ${name} set default_transaction_isolation = 'serializable'`);
    const strict = server.socketUrl.replace('/postgres?', `/${name}?`);
    const [one, two] = [open(strict), open(strict)];
    await Promise.all([one.migrate(), two.migrate()]);
    const ends = Array.from({ length: 20 }, (_, at) =>
      (at % 2 ? one : two).previews.end('run_1', 1, 0, STONE),
    );
    expect(new Set(await Promise.all(ends))).toEqual(new Set([1]));
    await Promise.all([one.close(), two.close()]);
  });

  test('fail with service_unavailable once the server is gone, and close all the same', async () => {
    const own = await startPostgres();
    const gone = open(own.url);
    await gone.migrate();
    await own.stop();
    await expect(gone.runs.get('run_1')).rejects.toMatchObject(BROKEN);
    await expect(gone.runs.create(run('run_1'))).rejects.toMatchObject(BROKEN);
    await expect(gone.previews.end('run_1', 1, 0, STONE)).rejects.toMatchObject(BROKEN);
    await gone.close();
  });

  /** Resolves once one of our statements waits for another's lock. */
  async function waitForLock(): Promise<void> {
    for (;;) {
      const { rows } = await admin.query(
        "select 1 from pg_stat_activity where application_name = 'porthole' and wait_event_type = 'Lock'",
      );
      if (rows.length > 0) return;
    }
  }
});
