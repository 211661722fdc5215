import { CUT_OFF, SUCCESS, toolRun, toolVersion } from '#test/contracts/records/editor-samples.ts';
import { aSandbox, THREE } from '#test/contracts/records/samples.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type CompiledQuery, type Dialect, Kysely, PostgresDialect } from 'kysely';
import { connectionPool } from '#adapters/sql/postgres/connection-pool.ts';
import { postgresSqlDialect } from '#adapters/sql/postgres/postgres-sql-dialect.ts';
import type { SqlSchema } from '#adapters/sql/schema.ts';
import type { SqlDialect } from '#adapters/sql/sql-dialect.ts';
import { sqlRecords } from '#adapters/sql/sql-records.ts';
import { inProcessNotifier } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { nodeSqliteDialect } from '#adapters/sql/sqlite/node-sqlite.ts';
import { sqliteSqlDialect } from '#adapters/sql/sqlite/sqlite-sql-dialect.ts';
import type { ApprovalRequest, Decision } from '#core/approvals/approval-store.ts';
import type { Records } from '#core/records.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';

const AT = new Date('2026-03-01T12:00:00.000Z');
const AFTER = Buffer.from(`${AT.toISOString()}run_1`).toString('base64url');
const AFTER_A = Buffer.from(JSON.stringify(['title', 'a', 'run_1'])).toString('base64url');
const OWNER = { user: 'alice', org: 'acme' };

const REQUEST: ApprovalRequest = {
  id: 'apr_1',
  runId: 'run_1',
  tool: 'tool',
  args: {},
  message: '',
  requestedAt: AT,
  expiresAt: new Date(AT.getTime() + 1),
};
const CLAIM = { toolId: 'tool_1', tokenSha256: 'a', at: AT };
const BOUNDS = { keptSince: AT, since: AT, most: 9 };
const DECISION: Decision = { outcome: 'approved', scope: 'always', reason: null, by: 'a', policyId: 'pol_1' };

/** All methods of the port that look up rows. */
const LOOKUPS: Readonly<Record<string, (records: Records) => Promise<unknown>>> = {
  'apiKeys.findByDigest': ({ apiKeys }) => apiKeys.findByDigest('a'),
  'apiKeys.list of an owner': ({ apiKeys }) => apiKeys.list(OWNER),
  'apiKeys.list of everyone': ({ apiKeys }) => apiKeys.list(undefined),
  'apiKeys.markUsed': ({ apiKeys }) => apiKeys.markUsed('key_1', AT, AT),
  'apiKeys.revoke': ({ apiKeys }) => apiKeys.revoke('key_1'),
  'runs.get': ({ runs }) => runs.get('run_1'),
  'runs.list of everybody': ({ runs }) => runs.list(undefined, { limit: 5 }),
  'runs.list of everybody, later page': ({ runs }) => runs.list(undefined, { limit: 5, after: AFTER }),
  'runs.list of an owner': ({ runs }) => runs.list(OWNER, { limit: 5 }),
  'runs.list of an owner, later page': ({ runs }) => runs.list(OWNER, { limit: 5, after: AFTER }),
  'runs.list by title': ({ runs }) => runs.list(undefined, { limit: 5 }, {}, 'title'),
  'runs.list by title, later page': ({ runs }) =>
    runs.list(undefined, { limit: 5, after: AFTER_A }, {}, 'title'),
  'runs.list of an owner by title, later page': ({ runs }) =>
    runs.list(OWNER, { limit: 5, after: AFTER_A }, {}, 'title'),
  'runs.list of an owner, oldest first': ({ runs }) => runs.list(OWNER, { limit: 5 }, {}, 'oldest'),
  'runs.list, filtered': ({ runs }) =>
    runs.list(OWNER, { limit: 5 }, { text: 'a', status: 'running', image: 'b', tags: { c: 'd' } }),
  'runs.count': ({ runs }) => runs.count(OWNER, { text: 'a' }),
  'runs.count of a state': ({ runs }) => runs.count(undefined, { status: 'running' }),
  'runs.complete': ({ runs }) => runs.complete('run_1', AT),
  'runs.completedAmong': ({ runs }) => runs.completedAmong(['run_1', 'run_2']),
  'sandboxes.get': ({ sandboxes }) => sandboxes.get('box'),
  'sandboxes.setDesired': ({ sandboxes }) => sandboxes.setDesired('box', 'stopped'),
  'sandboxes.setObserved': ({ sandboxes }) => sandboxes.setObserved('box', 'stopped'),
  'sandboxes.live': ({ sandboxes }) => sandboxes.live({ limit: 5 }),
  'sandboxes.live, later page': ({ sandboxes }) => sandboxes.live({ limit: 5, after: AFTER }),
  'sandboxes.destroyedAmong': ({ sandboxes }) => sandboxes.destroyedAmong(['box', 'box-2']),
  'capacity.wantedBy': ({ capacity }) => capacity.wantedBy(OWNER, 'here'),
  'capacity.countWanted': ({ capacity }) => capacity.countWanted('here'),
  'capacity.reserve': ({ capacity }) =>
    capacity.reserve(aSandbox('box-9', { owner: OWNER, sessionKey: 's', name: 'n' }), THREE),
  'capacity.usage': ({ capacity }) => capacity.usage(OWNER, THREE.defaultSize),
  'capacity.wake': ({ capacity }) => capacity.wake({ id: 'box', generation: 1 }, AT, THREE),
  'sandboxes.moveDesired': ({ sandboxes }) =>
    sandboxes.moveDesired({ id: 'box', generation: 1 }, 'running', 'stopped', AT, {
      lastActiveAt: AT,
      heartbeatAt: AT,
    }),
  'sandboxes.beat': ({ sandboxes }) => sandboxes.heartbeat({ id: 'box', generation: 1 }, AT),
  'sandboxes.touch': ({ sandboxes }) => sandboxes.touch({ id: 'box', generation: 1 }, AT),
  'sandboxes.list of an owner': ({ sandboxes }) =>
    sandboxes.list(OWNER, { state: 'running', tags: { a: 'b' } }, { limit: 5, after: AFTER }),
  'sandboxes.list of everybody': ({ sandboxes }) => sandboxes.list(undefined, {}, { limit: 5, after: AFTER }),
  'sandboxes.list by name': ({ sandboxes }) => sandboxes.list(undefined, {}, { limit: 5 }, 'name'),
  'sandboxes.list of an owner by name': ({ sandboxes }) => sandboxes.list(OWNER, {}, { limit: 5 }, 'name'),
  'sandboxes.list, last used first': ({ sandboxes }) => sandboxes.list(undefined, {}, { limit: 5 }, 'active'),
  'sandboxes.list of an owner, last used first': ({ sandboxes }) =>
    sandboxes.list(OWNER, { text: 'a' }, { limit: 5 }, 'active'),
  'sandboxes.count': ({ sandboxes }) => sandboxes.count(OWNER, { text: 'a', image: 'b' }),
  'capacity.takeWarm': ({ capacity }) => capacity.takeWarm('here', OWNER, OWNER, AT),
  'capacity.takeWarm of one': ({ capacity }) => capacity.takeWarm('here', OWNER, OWNER, AT, { id: 'box' }),
  'previews.generation': ({ previews }) => previews.generation('run_1', 3000),
  'previews.end': ({ previews }) =>
    previews.end('run_1', 3000, 1, { tokenSha256: 'a', runId: 'run_1', reason: 'stopped', at: AT }),
  'previews.tombstone': ({ previews }) => previews.tombstone('a'),
  'previews.stoppedAmong': ({ previews }) => previews.stoppedAmong(['a', 'b']),
  'previews.forget': ({ previews }) => previews.forget(AT),
  'runs.inSandbox': ({ runs }) => runs.inSandbox('box'),
  'timeline.append': ({ timeline }) =>
    timeline.append('run_1', [{ type: 'preview.kept', key: 'a', data: {}, again: 0 }], AT),
  'timeline.read': ({ timeline }) => timeline.read('run_1', { after: 5, limit: 5 }),
  'approvals.ask': ({ approvals }) => approvals.ask(REQUEST, { id: 'w', until: AT }, BOUNDS),
  'approvals.get': ({ approvals }) => approvals.get('apr_1'),
  'approvals.stay': ({ approvals }) => approvals.stay('apr_1', { id: 'w', until: AT }),
  'approvals.leave': ({ approvals }) => approvals.leave('run_1', 'apr_1', 'w', AT),
  'approvals.decide': ({ approvals }) => approvals.decide('run_1', 'apr_1', DECISION, AT),
  'approvals.applyPolicies': ({ approvals }) => approvals.applyPolicies('run_1', 'tool', AT),
  'approvals.runsWaiting': ({ approvals }) => approvals.runsWaiting(OWNER, 'tool'),
  'approvals.timeOut': ({ approvals }) => approvals.timeOut(AT),
  'approvals.timeOut of a run': ({ approvals }) => approvals.timeOut(AT, 'run_1'),
  'approvals.take': ({ approvals }) => approvals.take('apr_1', AT),
  'approvals.forget': ({ approvals }) => approvals.forget(AT),
  'policies.covering': ({ policies }) => policies.covering(OWNER, 'run_1', 'tool', {}),
  'policies.get': ({ policies }) => policies.get('pol_1'),
  'policies.list of everybody': ({ policies }) => policies.list(undefined, { limit: 5 }),
  'policies.list of everybody, later page': ({ policies }) =>
    policies.list(undefined, { limit: 5, after: AFTER }),
  'policies.list of an owner': ({ policies }) => policies.list(OWNER, { limit: 5 }),
  'policies.list of an owner, later page': ({ policies }) => policies.list(OWNER, { limit: 5, after: AFTER }),
  'policies.delete': ({ policies }) => policies.delete('pol_1'),
  'tools.get': ({ tools }) => tools.get('tool_1'),
  'tools.list of everybody': ({ tools }) => tools.list(undefined, { limit: 5, after: AFTER }),
  'tools.list of an owner': ({ tools }) => tools.list(OWNER, { limit: 5, after: AFTER }),
  'tools.rename': ({ tools }) => tools.rename('tool_1', 'x'),
  'tools.remove': ({ tools }) => tools.remove(CLAIM),
  'tools.addVersion': ({ tools }) => tools.addVersion(toolVersion('ver_9', 'tool_1')),
  'tools.version': ({ tools }) => tools.version('ver_1'),
  'tools.versions': ({ tools }) => tools.versions('tool_1', { limit: 5, after: AFTER }),
  'drafts.get': ({ drafts }) => drafts.get('tool_1'),
  'drafts.save': ({ drafts }) => drafts.save(CLAIM, { sourceCode: 'x' }, 'alice'),
  'drafts.takeLock': ({ drafts }) =>
    drafts.takeLock('tool_1', { holder: OWNER, tokenSha256: 'a', expiresAt: AT }, AT, 'own'),
  'drafts.renewLock': ({ drafts }) => drafts.renewLock(CLAIM, AT),
  'drafts.releaseLock': ({ drafts }) => drafts.releaseLock(CLAIM),
  'toolRuns.begin': ({ toolRuns }) =>
    toolRuns.begin(CLAIM, toolRun('trun_9', 'snap_9'), undefined, { runs: 5, snapshotBytes: 9 }),
  'toolRuns.end': ({ toolRuns }) => toolRuns.end('trun_1', SUCCESS, AT, { state: {} }),
  'toolRuns.get': ({ toolRuns }) => toolRuns.get('trun_1'),
  'toolRuns.list': ({ toolRuns }) => toolRuns.list('tool_1', { limit: 5, after: AFTER }),
  'toolRuns.failOverdue': ({ toolRuns }) => toolRuns.failOverdue(AT, CUT_OFF, 5),
  'toolRuns.removeOlder': ({ toolRuns }) => toolRuns.removeOlder(AT, 5),
  'webhooks.get': ({ webhooks }) => webhooks.get('whk_1'),
  'webhooks.list of an owner': ({ webhooks }) => webhooks.list(OWNER),
  'webhooks.hasActive': ({ webhooks }) => webhooks.hasActive(),
  'webhooks.due': ({ webhooks }) => webhooks.due(),
  'webhooks.deliveries': ({ webhooks }) => webhooks.deliveries('whk_1', { limit: 5 }),
  'webhooks.deliveries, later page': ({ webhooks }) =>
    webhooks.deliveries('whk_1', { limit: 5, after: AFTER }),
  'webhooks.forget': ({ webhooks }) => webhooks.forget(AT),
  'toolSnapshots.underWay': ({ toolSnapshots }) => toolSnapshots.underWay(OWNER, AT),
  'toolSnapshots.get': ({ toolSnapshots }) => toolSnapshots.get('snap_1'),
  'toolSnapshots.expired': ({ toolSnapshots }) => toolSnapshots.expired(AT, 5),
  'toolSnapshots.remove': ({ toolSnapshots }) => toolSnapshots.remove(['snap_1', 'snap_2'], AT),
};

class Watched {
  readonly queries: CompiledQuery[] = [];
  readonly db: Kysely<SqlSchema>;
  readonly records: Records;

  constructor(dialect: Dialect, sqlDialect: SqlDialect) {
    this.db = new Kysely({ dialect, log: ({ query }) => void this.queries.push(query) });
    this.records = sqlRecords(this.db, sqlDialect, inProcessNotifier());
  }

  /** The plan of each statement that `lookup` runs, one text per statement. */
  async plans(lookup: (records: Records) => Promise<unknown>, explain: string): Promise<string[]> {
    this.queries.length = 0;
    await lookup(this.records);
    const statements = this.queries
      .splice(0)
      .filter(({ sql }) => /^(select|update|delete)/.test(sql) && !sql.includes('pg_advisory'));
    const plans: string[] = [];
    for (const query of statements) {
      const { rows } = await this.db.executeQuery({ ...query, sql: `${explain} ${query.sql}` });
      plans.push(rows.map((row) => JSON.stringify(row)).join('\n'));
    }
    expect(plans.length).toBeGreaterThan(0);
    return plans;
  }
}

describe('on SQLite an index serves', () => {
  let watched: Watched;

  beforeAll(async () => {
    watched = new Watched(nodeSqliteDialect({ file: ':memory:', busyTimeoutMs: 0 }), sqliteSqlDialect);
    await watched.records.migrate();
  });
  afterAll(() => watched.records.close());

  test.each(Object.entries(LOOKUPS))('%s', async (_, lookup) => {
    for (const plan of await watched.plans(lookup, 'explain query plan')) {
      expect(plan).toMatch(/USING (COVERING )?INDEX/);
      expect(plan).not.toMatch(
        /SCAN (api_keys|runs|run_events|sandboxes|sandbox_\w+|preview_\w+|approvals|approval_\w+|tools|tool_\w+|webhook_\w+)"|TEMP B-TREE/,
      );
    }
  });
});

suite('on PostgreSQL an index serves', postgresMissing, () => {
  let server: TestPostgres;
  let watched: Watched;

  beforeAll(async () => {
    server = await startPostgres();
    // On tables this small, a plan scans or sorts only if no index applies.
    const options = encodeURIComponent('-c enable_seqscan=off -c enable_sort=off -c enable_bitmapscan=off');
    const pool = async () => connectionPool({ url: `${server.url}?options=${options}`, size: 1 });
    watched = new Watched(new PostgresDialect({ pool }), postgresSqlDialect);
    await watched.records.migrate();
  });
  afterAll(async () => {
    await watched.records.close();
    await server.stop();
  });

  test.each(Object.entries(LOOKUPS))('%s', async (_, lookup) => {
    for (const plan of await watched.plans(lookup, 'explain')) {
      expect(plan).toMatch(/Index (Only )?Scan/);
      expect(plan).not.toMatch(/Seq Scan|Sort/);
    }
  });
});
