/** Provisioning the credentials of runs, to a real guest. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { ChannelAddress } from '#core/processes/guest.ts';
import { provisionRuns } from '#core/runs/agent-token.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { TestProvider } from '#test/support/with-guests.ts';
import type { Records } from '#core/records.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';
import { GuestProcess } from '#test/guest/support/guest-process.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');

describe('provisioning runs to the guest', () => {
  let home: string;
  let guest: GuestProcess;
  let records: Records;
  let address: ChannelAddress | undefined;
  let calls: number;

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'porthole-introduce-'));
    guest = await GuestProcess.start({ env: { HOME: home } });
    records = openSqliteRecords({ file: ':memory:' });
    await records.migrate();
    address = { kind: 'url', url: 'http://198.18.0.9:8788/' };
    calls = 0;
  });
  afterEach(async () => {
    await records.close();
    await guest.stop();
    rmSync(home, { recursive: true });
  });

  const provider: Pick<TestProvider, 'callGuest'> = {
    callGuest: (_id, call, signal) => {
      calls += 1;
      return guest.client.call(call, signal);
    },
  };
  const provisionAccess = () =>
    provisionRuns(
      {
        records,
        sandboxes: provider,
        tokens: plainTokens(),
        channel: { address: () => Promise.resolve(address) },
      },
      'sandbox',
    );
  const begin = async (id: string, more: Partial<RunRecord> = {}): Promise<boolean> =>
    records.runs.create({
      id,
      owner: { user: 'alice', org: 'acme' },
      title: null,
      sandboxId: 'sandbox',
      autoApproveTools: false,
      status: 'running',
      tokenKid: 'key-1',
      sharing: 'private',
      tokenVersion: 0,
      createdAt: NOON,
      completedAt: null,
      ...more,
    });
  const folder = () => join(home, '.porthole/runs');

  test('writes each run to a separate file that only the user can read', async () => {
    await begin('run_1');
    await begin('run_2', { createdAt: new Date('2026-03-02T12:00:00.000Z') });
    await begin('run_3', { sandboxId: 'another' });
    await provisionAccess();
    expect(readdirSync(folder())).toEqual(['run_1', 'run_2']);
    const file = join(folder(), 'run_2');
    expect([file, folder()].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o700]);
    const token = await plainTokens().signAgent({
      runId: 'run_2',
      expiresAt: new Date('2026-03-03T12:00:00.000Z'),
      inside: true,
    });
    expect(readFileSync(file, 'utf8')).toBe(`run=run_2\ntoken=${token}\nurl=http://198.18.0.9:8788\n`);
  });

  test('removes completed runs, and keeps files of other writers', async () => {
    await begin('run_1');
    await begin('run_2');
    await provisionAccess();
    writeFileSync(join(folder(), 'run_9'), 'by another function');
    await records.runs.complete('run_1', NOON);
    await provisionAccess();
    expect(readdirSync(folder())).toEqual(['run_2', 'run_9']);
  });

  test('writes whole files when several run at once', async () => {
    for (let number = 10; number < 26; number += 1) await begin(`run_${number}`);
    await Promise.all(Array.from({ length: 8 }, provisionAccess));
    const files = readdirSync(folder());
    expect(files).toHaveLength(16);
    for (const file of files) {
      expect(readFileSync(join(folder(), file), 'utf8')).toMatch(
        new RegExp(`^run=${file}\ntoken=.+\nurl=http://198.18.0.9:8788\n$`),
      );
    }
  });

  test('does nothing without a channel or without a run', async () => {
    await provisionAccess();
    await begin('run_1');
    address = undefined;
    await provisionAccess();
    expect(calls).toBe(0);
  });

  test('reports an error if it fails', async () => {
    await begin('run_1');
    writeFileSync(join(home, '.porthole'), 'in the way');
    await expect(provisionAccess()).rejects.toMatchObject({ code: 'exec_transport_error' });
  });

  test('never writes outside the folder', async () => {
    const body = { running: [{ id: '../run', access: '' }], ended: [] };
    const call = guest.client.call({ method: 'PUT', path: '/v1/runs', body });
    await expect(call).rejects.toThrow('running.0.id: Invalid input.');
    expect(existsSync(join(home, '.porthole'))).toBe(false);
  });
});
