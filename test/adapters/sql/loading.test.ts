import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const adapters = join(import.meta.dirname, '../../../adapters/sql');

/** The database clients that a fresh process has loaded after `source`. */
async function clientsAfter(source: string): Promise<{ pg: boolean; sqlite: boolean }> {
  const script = `
    import { createRequire } from 'node:module';
    ${source}
    const pg = Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('node_modules/pg/'));
    const sqlite = process.moduleLoadList.some((name) => name === 'NativeModule sqlite');
    console.log(JSON.stringify({ pg, sqlite }));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: adapters,
  });
  return JSON.parse(stdout) as { pg: boolean; sqlite: boolean };
}

describe('a server with records', () => {
  test('does not load the PostgreSQL client when it uses SQLite', async () => {
    const clients = await clientsAfter(`
      import { openSqliteRecords } from './sqlite/open-sqlite-records.ts';
      const records = openSqliteRecords({ file: ':memory:' });
      await records.migrate();
      await records.close();`);
    expect(clients).toEqual({ pg: false, sqlite: true });
  });

  test('loads the PostgreSQL client when it uses PostgreSQL, and SQLite never', async () => {
    const clients = await clientsAfter(`
      import { openPostgresRecords } from './postgres/open-postgres-records.ts';
      const records = openPostgresRecords({ url: 'postgres://127.0.0.1:1/none' });
      await records.migrate().catch(() => {});`);
    expect(clients).toEqual({ pg: true, sqlite: false });
  });
});
