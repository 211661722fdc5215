import { MIGRATIONS } from '#adapters/sql/schema.ts';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely, sql } from 'kysely';
import { nodeSqliteDialect } from '#adapters/sql/sqlite/node-sqlite.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/records.ts';
import { message, PICTURE } from '../../contracts/records/inbox.contract.ts';
import { look } from '../../contracts/records/looks.contract.ts';
import { aRun, aSandbox } from '#test/contracts/records/samples.ts';
import { sealsOf } from '#test/support/sealed-texts.ts';

const RUN = aRun('run_1');

describe('the SQLite file', () => {
  let folder: string;
  let file: string;
  const opened: { close(): unknown }[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'porthole-records-'));
    file = join(folder, 'records.db');
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    await rm(folder, { recursive: true });
  });

  function open(busyTimeoutMs?: number): Records {
    const records = openSqliteRecords({ file, busyTimeoutMs });
    opened.push(records);
    return records;
  }

  /** Counts as another process for SQLite. */
  function openDirectly(): DatabaseSync {
    const database = new DatabaseSync(file, { timeout: 0 });
    opened.push(database);
    return database;
  }

  test('is accessible to its owner alone, and so is its write-ahead log', async () => {
    const records = open();
    await records.migrate();
    await records.runs.create(RUN);
    for (const name of ['records.db', 'records.db-wal', 'records.db-shm']) {
      expect([name, (await stat(join(folder, name))).mode & 0o777]).toEqual([name, 0o600]);
    }
  });

  test('keeps its mode when it was opened to other users', async () => {
    await open().migrate();
    await chmod(file, 0o640);
    await open().migrate();
    expect((await stat(file)).mode & 0o777).toBe(0o640);
  });

  test('has a write-ahead log, which is gone after the last close', async () => {
    const records = open();
    await records.migrate();
    expect(openDirectly().prepare('pragma journal_mode').get()).toMatchObject({ journal_mode: 'wal' });
    opened.pop()?.close();
    await records.close();
    await expect(stat(`${file}-wal`)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('is used with these settings, without a wait that holds the thread among them', async () => {
    const db = new Kysely({ dialect: nodeSqliteDialect({ file, busyTimeoutMs: 5000 }) });
    opened.push({ close: () => db.destroy() });
    const setting = async (name: string): Promise<unknown> =>
      Object.values(
        (await sql<Record<string, unknown>>`pragma ${sql.raw(name)}`.execute(db)).rows[0] ?? {},
      )[0];
    expect(await setting('journal_mode')).toBe('wal');
    expect(await setting('foreign_keys')).toBe(1);
    expect(await setting('busy_timeout')).toBe(0);
    // 1 is NORMAL.
    expect(await setting('synchronous')).toBe(1);
    expect(await setting('secure_delete')).toBe(1);
  });

  test('answers a look-up at once, but not with what a transaction may still roll back', async () => {
    const dialect = nodeSqliteDialect({ file, busyTimeoutMs: 0 });
    const db = new Kysely<{ kept: { id: string } }>({ dialect });
    opened.push({ close: () => db.destroy() });
    const query = db.selectFrom('kept').selectAll().compile();
    expect(dialect.selectNow(query)).toBeUndefined();
    await db.schema.createTable('kept').addColumn('id', 'text').execute();
    expect(dialect.selectNow(query)).toEqual([]);
    const rolledBack = db.transaction().execute(async (trx) => {
      await trx.insertInto('kept').values({ id: 'a' }).execute();
      expect(dialect.selectNow(query)).toBeUndefined();
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    expect(dialect.selectNow(query)).toEqual([]);
    await db.destroy();
    expect(dialect.selectNow(query)).toBeUndefined();
  });

  test('holds no value of a sandbox’s variables and secrets, nor does its log, before and after the sandbox is destroyed', async () => {
    const records = openSqliteRecords({ file, seals: sealsOf('key-1') });
    opened.push(records);
    await records.migrate();
    const env = { TOKEN: 'plain-to-see', OTHER: 'x'.repeat(9_000) };
    const secrets = { list: [], authority: { certificate: 'plain-to-see', key: 'TOKEN' } };
    const made = aSandbox('box', { env, secrets });
    await records.sandboxes.create(made);
    await records.sandboxes.setSecrets(made, secrets);
    const bytes = async () =>
      Buffer.concat([await readFile(file), await readFile(`${file}-wal`)]).toString('latin1');
    expect(await records.sandboxes.get('box')).toMatchObject({ env, secrets });
    expect(await bytes()).not.toMatch(/plain-to-see|TOKEN|xxxxxxxx/);
    await records.sandboxes.setObserved('box', 'destroyed');
    expect(await bytes()).not.toMatch(/plain-to-see|TOKEN|xxxxxxxx/);
    expect((await records.sandboxes.get('box'))?.env).toEqual({});
  });

  test('holds no text of the inbox and of looks, nor does its log', async () => {
    const records = openSqliteRecords({ file, seals: sealsOf('key-1') });
    opened.push(records);
    await records.migrate();
    await records.runs.create(RUN);
    const more = { owner: RUN.owner, most: 9, event: { type: 'inbox.posted', key: 'a', data: {} } } as const;
    const sealed = { ...PICTURE, base64: Buffer.from('plain-to-see'.repeat(99)).toString('base64') };
    await records.inbox.add(message('msg_1', { text: 'plain-to-see' }), sealed, more);
    const looked = look('look_1', { title: 'plain-to-see', thumbnail: sealed, picture: sealed });
    await records.looks.add(looked, { owner: RUN.owner, most: 9, pictures: 9 });
    const bytes = Buffer.concat([await readFile(file), await readFile(`${file}-wal`)]).toString('latin1');
    expect(bytes).not.toMatch(/plain-to-see|cGxhaW4tdG8tc2Vl/);
    expect((await records.inbox.get('run_1', 'msg_1', RUN.owner))?.picture).toEqual(sealed);
    expect(await records.looks.get('run_1', 'look_1', RUN.owner)).toEqual(looked);
  });

  test('returns the variables of an older version unchanged', async () => {
    const older = open();
    await older.migrate();
    const made = aSandbox('box', { env: { A: '1' } });
    await older.sandboxes.create(made);
    const newer = openSqliteRecords({ file, seals: sealsOf('key-1') });
    opened.push(newer);
    expect((await newer.sandboxes.get('box'))?.env).toEqual({ A: '1' });
  });

  test('omits variables with a missing key, and says so only in its log', async () => {
    const reported: unknown[] = [];
    const log = { warn: (fields: object, message: string) => void reported.push([fields, message]) };
    const before = openSqliteRecords({ file, seals: sealsOf('key-1') });
    const after = openSqliteRecords({ file, seals: sealsOf('key-2'), log });
    opened.push(before, after);
    await before.migrate();
    await before.sandboxes.create(aSandbox('box', { env: { A: '1' } }));
    expect(await after.sandboxes.get('box')).toMatchObject({ id: 'box', env: {} });
    expect(reported).toEqual([[{ owner: 'alice' }, expect.stringMatching(/PORTHOLE_SIGNING_KEYS$/)]]);
  });

  test('is read while another process writes', async () => {
    const records = open(0);
    await records.migrate();
    await records.runs.create(RUN);
    openDirectly().exec("begin immediate; update runs set title = 'uncommitted'");
    expect(await records.runs.get('run_1')).toEqual(RUN);
  });

  test('is waited for while another process writes, and the rest of the server goes on', async () => {
    const records = open();
    await records.migrate();
    const other = openDirectly();
    other.exec('begin immediate');
    const waiting = Promise.all([
      records.runs.create(RUN),
      records.previews.end('run_1', 3000, 0, {
        tokenSha256: 'a',
        runId: 'run_1',
        reason: 'stopped',
        at: new Date(),
      }),
    ]);
    // Must be reached in time: SQLite's built-in wait would block this thread.
    await new Promise((resolve) => setImmediate(resolve));
    expect(other.prepare('select count(*) as n from runs').get()).toMatchObject({ n: 0 });
    other.exec('commit');
    expect((await waiting)[1]).toBe(1);
    expect(await records.runs.get('run_1')).toEqual(RUN);
  });

  test('is migrated once when two instances both find an older version', async () => {
    openDirectly().exec(
      'pragma journal_mode = wal; create table schema_migrations (name text primary key, applied_at text)',
    );
    await Promise.all([open().migrate(), open().migrate()]);
    const done = 'select name from schema_migrations union all select name from schema_expansions order by 1';
    expect(openDirectly().prepare(done).all()).toEqual(MIGRATIONS.map(({ name }) => ({ name })));
  });

  test('reports service_unavailable and writes nothing when it stays busy', async () => {
    const records = open(20);
    await records.migrate();
    const other = openDirectly();
    other.exec('begin immediate');
    await expect(records.runs.create(RUN)).rejects.toMatchObject({
      code: 'service_unavailable',
      message: 'the records file is in use by another process: try again',
      cause: { errstr: 'database is locked' },
    });
    other.exec('rollback');
    expect(await records.runs.get('run_1')).toBeUndefined();
    await records.runs.create(RUN);
  });

  test('is refused and left alone when it is not an SQLite database', async () => {
    await writeFile(file, 'this is no database, but a person needs it'.repeat(100));
    const { mtimeMs } = await stat(file);
    // Only SQLITE_BUSY is retried: with this timeout, a retry of any other error would never
    // return.
    await expect(open(1e9).migrate()).rejects.toMatchObject({
      code: 'service_unavailable',
      message: 'the records file is not an SQLite database: name another one',
    });
    expect((await stat(file)).mtimeMs).toBe(mtimeMs);
  });

  test('is refused without its path when its folder is missing, and opened once the folder is there', async () => {
    const records = openSqliteRecords({ file: join(folder, 'later', 'records.db') });
    opened.push(records);
    await expect(records.migrate()).rejects.toMatchObject({
      code: 'service_unavailable',
      message: 'the records file cannot be opened: make its folder, and let the server write to it',
    });
    await mkdir(join(folder, 'later'));
    await records.migrate();
    expect(await records.runs.get('run_1')).toBeUndefined();
  });
});
