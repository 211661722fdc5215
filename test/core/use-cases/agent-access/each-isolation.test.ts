/**
 * The command in sandboxes of every kind of isolation: provisioned, found in the PATH, and calling
 * its own channel.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLocalProvider, type LocalProvider } from '#adapters/local/local-provider.ts';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/records.ts';
import { provisionRuns } from '#core/runs/agent-token.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { run, sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';
import { suite } from '#test/support/suite.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';
import { aRun } from '#test/contracts/records/samples.ts';

for (const isolation of ['bubblewrap', 'unshare', 'none'] as const) {
  suite(`the porthole command, ${isolation}`, missingFor(isolation), () => {
    const id = sandboxId();
    let folder: string;
    let provider: LocalProvider & TestProvider;
    let records: Records;
    let asked: string[];

    const channel = (of: string): Server =>
      createServer((req, res) => {
        asked.push(`${of} ${req.method} ${req.url}`);
        res.end('[]');
      });
    beforeAll(async () => {
      // Exceeds the length limit of a socket's path.
      folder = mkdtempSync(join(tmpdir(), `porthole-each-${'x'.repeat(80)}`));
      asked = [];
      records = openSqliteRecords({ file: ':memory:' });
      await records.migrate();
      await records.runs.create(aRun('run_1', { sandboxId: id, createdAt: new Date() }));
      provider = withGuests(createLocalProvider({ dataDir: folder, isolation }));
      await provider.serveChannels({ calls: channel });
      await provider.create({ id });
    });
    afterAll(async () => {
      await provider.destroy(id);
      await provider.close();
      await records.close();
      rmSync(folder, { recursive: true });
    });

    test('returns the provider that calls the channel of that sandbox', async () => {
      const address = async (of: string) => {
        const path = provider.channelPath(of);
        return path === undefined ? undefined : ({ kind: 'socket', path } as const);
      };
      await provisionRuns({ records, sandboxes: provider, tokens: plainTokens(), channel: { address } }, id);
      expect(await run(provider, id, ['sh', '-c', 'porthole status'])).toEqual({
        exit: { code: 0 },
        stdout: '',
        stderr: '',
      });
      expect(asked).toEqual([`${id} GET /api/runs/run_1/sandbox/port-forward`]);
      const { stdout } = await run(provider, id, ['sh', '-c', 'stat -c %a "$HOME/.porthole/runs/run_1"']);
      expect(stdout).toBe('600\n');
    });
  });
}
