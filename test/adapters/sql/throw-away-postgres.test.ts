import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { postgresMissing, startPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';

function folderOf(socketUrl: string): string {
  return new URL(socketUrl).searchParams.get('host') ?? '';
}

suite('a throw-away PostgreSQL', postgresMissing, () => {
  test('takes its folder with it when it is stopped, and may be stopped twice', async () => {
    const server = await startPostgres();
    const folder = folderOf(server.socketUrl);
    expect(existsSync(join(folder, 'data'))).toBe(true);
    await server.stop();
    await server.stop();
    expect(existsSync(folder)).toBe(false);
  });

  test('ends and leaves nothing when the process that started it is killed', async () => {
    const script = `
      import { startPostgres } from '#test/support/postgres.ts';
      console.log((await startPostgres()).socketUrl);`;
    const starter = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [url] = (await once(createInterface({ input: starter.stdout }), 'line')) as [string];
    const client = new Client({ connectionString: url });
    // The test waits for this connection to break.
    client.on('error', () => {});
    await client.connect();
    const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
    starter.kill('SIGKILL');
    await ended;
    for (let there = true; there; ) {
      there = await stat(folderOf(url)).then(
        () => true,
        () => false,
      );
    }
    expect(existsSync(folderOf(url))).toBe(false);
  });
});
