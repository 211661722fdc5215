import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import { activityLog, type ActivityPosition, findActivity } from '#core/runs/activity.ts';
import type { Records } from '#core/records.ts';
import { minutes, aRun, aSandbox } from '#test/contracts/records/samples.ts';

const START: ActivityPosition = { run: 0, sandbox: 0 };
const RUN = aRun('run_1', { createdAt: minutes(10) });

describe('the activity of a run', () => {
  let records: Records;

  beforeEach(async () => {
    records = openSqliteRecords({ file: ':memory:' });
    await records.migrate();
    await records.sandboxes.create(aSandbox('box'));
    await records.runs.create(RUN, [{ type: 'run.created', key: 'made', data: {} }]);
  });
  afterEach(() => records.close());

  const append = (at: number, key = `port:${at}`) =>
    records.timeline.append('run_1', [{ type: 'port.listening', key, data: { port: at } }], minutes(at));
  const publish = (at: number, type: 'exec' | 'file_written' | 'port_listening' = 'exec') =>
    records.sandboxEvents.append('box', [{ type, at: minutes(at), data: {} }], 1_000);
  const readAll = async (limit: number) => {
    const log = activityLog(records, RUN);
    const ids: string[] = [];
    let after = START;
    for (;;) {
      const { events, more } = await log.read('', { after, limit });
      ids.push(...events.map(({ id, type }) => `${id} ${type}`));
      after = events.at(-1)?.seq ?? after;
      if (!more) return ids;
    }
  };

  test.each([1, 2, 3, 100])('merges both logs by time, each event once, in pages of %i', async (limit) => {
    await append(11);
    await publish(12);
    await publish(13, 'file_written');
    await append(14);
    await publish(15);
    expect(await readAll(limit)).toEqual([
      'r1 run.created',
      'r2 port.listening',
      's1 command.exited',
      's2 file.written',
      'r3 port.listening',
      's3 command.exited',
    ]);
  });

  test.each([1, 2, 100])(
    'omits what the timeline has, and what belongs to other runs, in pages of %i',
    async (limit) => {
      await publish(5);
      for (let at = 20; at < 25; at += 1) await publish(at, 'port_listening');
      await publish(25);
      await records.runs.complete('run_1', minutes(30), [{ type: 'run.completed', key: 'over', data: {} }]);
      await publish(31);
      expect(await readAll(limit)).toEqual(['r1 run.created', 's7 command.exited', 'r2 run.completed']);
    },
  );

  test('finds an event by its id, unless it belongs to another run', async () => {
    await publish(5);
    await publish(12);
    await publish(13, 'port_listening');
    await publish(31);
    const completed = { ...RUN, completedAt: minutes(30) };
    const found = async (id: string) => (await findActivity(records, completed, id))?.type;
    expect(await Promise.all(['r1', 'r2', 's1', 's2', 's3', 's4', 's5'].map(found))).toEqual([
      'run.created',
      undefined,
      undefined,
      'command.exited',
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('keeps an event that was written late, after what is known', async () => {
    await append(20);
    const log = activityLog(records, RUN);
    const known = await log.read('', { after: START, limit: 10 });
    await publish(15);
    const late = await log.read('', { after: known.events.at(-1)?.seq ?? START, limit: 10 });
    expect(late.events.map(({ id }) => id)).toEqual(['s1']);
    expect(late.more).toBe(false);
  });

  test('omits later events of the sandbox also when the completion is already known', async () => {
    const log = activityLog(records, RUN);
    await records.runs.complete('run_1', minutes(30), [{ type: 'run.completed', key: 'over', data: {} }]);
    const known = await log.read('', { after: START, limit: 10 });
    await publish(31);
    const later = await log.read('', { after: known.events.at(-1)?.seq ?? START, limit: 10 });
    expect(later).toEqual({ events: [], more: false });
  });

  test('wakes its followers for an append to either log, until they leave', async () => {
    let wakes = 0;
    const leave = activityLog(records, RUN).watch('', () => (wakes += 1));
    await append(11);
    expect(wakes).toBeGreaterThan(0);
    const before = wakes;
    await publish(12);
    expect(wakes).toBeGreaterThan(before);
    leave();
    const last = wakes;
    await append(13);
    await publish(14);
    expect(wakes).toBe(last);
  });
});
