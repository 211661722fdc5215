import { NO_NETWORK } from '#core/network/network-policy.ts';
import { NO_QUOTAS } from '#core/sandboxes/sandbox-quotas.ts';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/records.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { createSandbox } from '#core/sandboxes/create-sandbox.ts';
import { recoverSandboxes } from '#host/platforms/recover-sandboxes.ts';
import { aRun } from '#test/contracts/records/samples.ts';
import { numberedIds } from '#test/doubles/numbered-ids.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { collect } from '#test/support/collect.ts';
import { folderProvider } from './folder-provider.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');
const OWNER = { user: 'alice', org: 'acme' };

describe('recovery', () => {
  let folder: string;
  let records: Records;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-recovery-'));
    records = openSqliteRecords({ file: ':memory:' });
    await records.migrate();
  });
  afterEach(async () => {
    await records.close();
    rmSync(folder, { recursive: true });
  });

  const silent = () => undefined;
  const log = { debug: silent, info: silent, warn: silent, error: silent };
  const signal = new AbortController().signal;
  const leave = (id: string, change: Partial<SandboxRecord>) =>
    records.sandboxes.create({
      id,
      owner: OWNER,
      image: null,
      sessionKey: null,
      name: null,
      tags: {},
      resources: {},
      network: NO_NETWORK,
      env: {},
      place: 'here',
      desired: 'running',
      observed: 'running',
      createdAt: NOON,
      ...change,
    });

  test('finishes what the last host left undone, and removes orphans', async () => {
    const clock = pinnedClock(new Date(NOON.getTime() + 1));
    const provider = folderProvider(folder);
    for (const id of ['whole', 'half', 'unwanted', 'orphan']) await provider.create({ id });
    await leave('whole', {});
    await leave('half', { observed: 'creating' });
    await leave('unwanted', { desired: 'destroyed' });
    await leave('lost', {});
    await leave('elsewhere', { place: 'another machine', observed: 'creating' });
    await recoverSandboxes({ records, installationId: 'here', sandboxes: provider, clock, log }, signal);
    expect(await collect(provider.list())).toEqual(['whole']);
    const { items } = await records.sandboxes.live({ limit: 10 });
    expect(items.map(({ id }) => id).toSorted()).toEqual(['elsewhere', 'whole']);
  });

  test('completes the runs of sandboxes that do not exist, and no others', async () => {
    const clock = pinnedClock(new Date(NOON.getTime() + 1));
    const provider = folderProvider(folder);
    await provider.create({ id: 'whole' });
    await leave('whole', {});
    await leave('half', { observed: 'creating' });
    await leave('lost', {});
    await leave('earlier', { desired: 'destroyed', observed: 'destroyed' });
    await leave('elsewhere', { place: 'another machine', observed: 'creating' });
    for (const sandboxId of ['whole', 'half', 'lost', 'earlier', 'elsewhere']) {
      await records.runs.create(aRun(`run_${sandboxId}`, { sandboxId }));
    }
    await recoverSandboxes({ records, installationId: 'here', sandboxes: provider, clock, log }, signal);
    const { items } = await records.runs.list(undefined, { limit: 10 }, { status: 'running' });
    expect(items.map(({ sandboxId }) => sandboxId).toSorted()).toEqual(['elsewhere', 'whole']);
  });

  test('leaves a sandbox to the request that makes it meanwhile', async () => {
    const clock = pinnedClock(NOON);
    const recovering: Promise<void>[] = [];
    const provider = folderProvider(folder, async () => {
      // During the creation, when the record and half of the folder exist.
      recovering.push(
        recoverSandboxes(
          { records, installationId: 'here', sandboxes: folderProvider(folder), clock, log },
          signal,
        ),
      );
      await Promise.all(recovering);
    });
    mkdirSync(join(folder, 'orphan'));
    const { id } = await createSandbox(
      {
        records,
        installationId: 'here',
        sandboxes: provider,
        clock,
        ids: numberedIds(),
        pool: { take: async () => undefined },
        quotas: NO_QUOTAS,
        images: [],
      },
      { owner: OWNER },
      async (sandbox) => sandbox,
    );
    expect(recovering).toHaveLength(1);
    expect(await collect(provider.list())).toEqual([id]);
    expect((await records.sandboxes.get(id))?.observed).toBe('running');
  });
});
