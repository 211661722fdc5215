import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/records.ts';
import { ORPHAN_OWNER } from '#core/sandboxes/sandbox-owner.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import { keepLifecycle } from '#core/sandboxes/lifecycle-pass.ts';
import { collectOrphans } from '#core/sandboxes/collect-orphans.ts';
import { minutes, NOON, aSandbox } from '#test/contracts/records/samples.ts';
import { memoryPreviewPlane } from '#test/doubles/memory-preview-plane.ts';
import { memorySandboxes } from '#test/doubles/memory-sandboxes.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { plainTokens } from '#test/doubles/plain-tokens.ts';

let records: Records;
beforeEach(async () => {
  records = openSqliteRecords({ file: ':memory:' });
  await records.migrate();
});
afterEach(() => records.close());

const failures: string[] = [];
const machine = memorySandboxes();
const clock = pinnedClock(NOON);
const deps = () => ({
  records,
  sandboxes: machine.provider,
  clock,
  installationId: 'here',
  failed: (id: string, error: unknown) => void failures.push(`${id}: ${String(error)}`),
});
const know = (id: string, rest: Partial<SandboxRecord>) =>
  records.sandboxes.create(aSandbox(id, { place: 'here', ...rest }));
const pass = () => collectOrphans(deps());

beforeEach(() => machine.states.clear());
afterEach(() => {
  expect(failures).toEqual([]);
});

test('adopts an unknown sandbox without an owner, stops it, and deletes it after the retention', async () => {
  machine.states.set('orphan', 'running');
  expect(await pass()).toEqual({ adopted: 1, removed: 0 });
  expect(machine.states.get('orphan')).toBe('stopped');
  expect(await records.sandboxes.get('orphan')).toMatchObject({
    owner: ORPHAN_OWNER,
    desired: 'stopped',
    observed: 'stopped',
  });
  expect(await pass()).toEqual({ adopted: 0, removed: 0 });
  const later = pinnedClock(minutes(61));
  await keepLifecycle({
    ...deps(),
    clock: later,
    plane: memoryPreviewPlane({ clock: later }),
    tokens: plainTokens(),
    limits: { idle: 30 * 60_000, retention: 60 * 60_000 },
  });
  expect([...machine.states]).toEqual([]);
});

test('deletes a sandbox that its owner has deleted', async () => {
  await know('gone', { desired: 'destroyed', observed: 'destroyed' });
  machine.states.set('gone', 'stopped');
  expect(await pass()).toEqual({ adopted: 0, removed: 1 });
  expect([...machine.states]).toEqual([]);
  expect(await records.sandboxes.get('gone')).toMatchObject({ desired: 'destroyed', observed: 'destroyed' });
});

test.each<[string, Partial<SandboxRecord>]>([
  ['is being made', { observed: 'creating' }],
  ['runs', { observed: 'running' }],
  ['is stopped', { desired: 'stopped', observed: 'stopped' }],
  ['is being destroyed', { desired: 'destroyed', observed: 'running' }],
  ['is another installation’s', { place: 'elsewhere' }],
])('ignores a sandbox that a live record claims: it %s', async (_what, rest) => {
  await know('claimed', rest);
  machine.states.set('claimed', 'running');
  expect(await pass()).toEqual({ adopted: 0, removed: 0 });
  expect(machine.states.get('claimed')).toBe('running');
});

test('keeps the sandbox of a caller that takes the same id during the pass', async () => {
  await know('taken', { desired: 'destroyed', observed: 'destroyed' });
  machine.states.set('taken', 'running');
  const { sandboxes } = records;
  const late: Records = {
    ...records,
    sandboxes: {
      ...sandboxes,
      async create(record) {
        await know('taken', { observed: 'creating' });
        return sandboxes.create(record);
      },
    },
  };
  expect(await collectOrphans({ ...deps(), records: late })).toEqual({ adopted: 0, removed: 0 });
  expect(machine.states.get('taken')).toBe('running');
  expect(await sandboxes.get('taken')).toMatchObject({ desired: 'running', observed: 'creating' });
});

test('adopts and deletes each one once if ten passes run at once', async () => {
  await know('gone', { desired: 'destroyed', observed: 'destroyed' });
  for (const id of ['gone', 'a', 'b']) machine.states.set(id, 'running');
  const reports = await Promise.all(Array.from({ length: 10 }, pass));
  const sum = (key: 'adopted' | 'removed') => reports.reduce((total, report) => total + report[key], 0);
  expect([sum('adopted'), sum('removed')]).toEqual([2, 1]);
  expect([...machine.states]).toEqual([
    ['a', 'stopped'],
    ['b', 'stopped'],
  ]);
});
