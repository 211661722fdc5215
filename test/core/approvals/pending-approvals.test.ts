import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { ApprovalRecords } from '#core/approvals/approval-store.ts';
import type { Owner } from '#base/clock-and-ids.ts';
import type { Records } from '#core/records.ts';
import { createPendingApprovals, type PendingApprovals } from '#core/approvals/pending-approvals.ts';
import { ALICE, BOB, aRun } from '#test/contracts/records/samples.ts';
import { type PinnedClock, pinnedClock } from '#test/doubles/pinned-clock.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');
const MINUTE = 60_000;
const after = (milliseconds: number) => new Date(NOON.getTime() + milliseconds);

describe('pending approvals', () => {
  let records: Records;
  let clock: PinnedClock;
  let board: PendingApprovals;
  let leave: AbortController;
  let polls: number;
  let watchers: number;
  let broken: Error | undefined;

  beforeEach(async () => {
    records = openSqliteRecords({ file: ':memory:' });
    await records.migrate();
    await records.runs.create(aRun('run_1'));
    await records.runs.create(aRun('run_2', { owner: BOB }));
    [polls, watchers, broken] = [0, 0, undefined];
    clock = pinnedClock(NOON);
    leave = new AbortController();
    const counted: ApprovalRecords = {
      ...records.approvals,
      async waiting(...args) {
        polls += 1;
        if (broken !== undefined) throw broken;
        return records.approvals.waiting(...args);
      },
      watch(wake) {
        watchers += 1;
        const end = records.approvals.watch(wake);
        return () => {
          watchers -= 1;
          end();
        };
      },
    };
    board = createPendingApprovals({ records: { approvals: counted }, clock });
  });
  afterEach(() => {
    leave.abort();
    return records.close();
  });

  let asked = 0;
  const ask = async (runId = 'run_1', lasts = 5 * MINUTE) => {
    const id = `apr_${String((asked += 1)).padStart(26, '0')}`;
    await records.approvals.ask(
      {
        id,
        runId,
        tool: 'start_preview',
        args: { target_port: asked },
        message: 'Open it?',
        requestedAt: clock.now(),
        expiresAt: new Date(clock.now().getTime() + lasts),
      },
      { id: `w${asked}`, until: after(60 * MINUTE) },
      { keptSince: after(-MINUTE), since: after(-MINUTE), most: 100 },
    );
    return id;
  };
  const follow = (owner: Owner | 'everybody' = ALICE, until = after(60 * MINUTE)) =>
    board.follow({
      owner: owner === 'everybody' ? undefined : owner,
      quietMs: 15_000,
      until,
      signals: [leave.signal],
    });
  /** The ids of its next list; null: nothing has changed; `end`. */
  const next = async (stream: ReturnType<PendingApprovals['follow']>) => {
    const { done, value } = await stream.next();
    if (done === true) return 'end';
    return value === undefined ? null : value.map(({ id }) => id);
  };
  /** Once this many waits for the clock exist. */
  const sleepers = async (count: number) => {
    while (clock.sleepers < count) await new Promise((resolve) => setImmediate(resolve));
  };
  /** Once the poll waits for a notification, with this many waiting followers. */
  const rests = async (followers: number) => {
    await sleepers(followers + 1);
    clock.advance(200);
    await sleepers(followers + 1);
  };

  test('publish at once, and at each change of the pending set', async () => {
    const stream = follow();
    expect(await next(stream)).toEqual([]);
    const begun = next(stream);
    await rests(1);
    const id = await ask();
    expect(await begun).toEqual([id]);
    const over = next(stream);
    await rests(1);
    await records.approvals.timeOut(after(10 * MINUTE));
    expect(await over).toEqual([]);
  });

  test('publish an expiry that no caller ended', async () => {
    const id = await ask('run_1', MINUTE / 10);
    const stream = follow();
    expect(await next(stream)).toEqual([id]);
    const over = next(stream);
    await rests(1);
    clock.advance(MINUTE / 10);
    expect(await over).toEqual([]);
  });

  test('are visible to their owner, and to a subscriber of all owners', async () => {
    const [mine, all] = [follow(ALICE), follow('everybody')];
    expect([await next(mine), await next(all)]).toEqual([[], []]);
    const seen = next(all);
    await rests(2);
    const his = await ask('run_2');
    expect(await seen).toEqual([his]);
    const later = next(mine);
    await sleepers(3);
    clock.advance(200);
    await sleepers(3);
    const hers = await ask('run_1');
    expect(await later).toEqual([hers]);
  });

  test('share one query between subscribers of the same set', async () => {
    const streams = Array.from({ length: 50 }, () => follow());
    expect(await Promise.all(streams.map(next))).toEqual(streams.map(() => []));
    expect([polls, watchers]).toEqual([1, 1]);
    const begun = streams.map(next);
    await rests(50);
    const id = await ask();
    expect(await Promise.all(begun)).toEqual(streams.map(() => [id]));
    expect([polls, watchers]).toEqual([2, 1]);
    expect(await next(follow())).toEqual([id]);
    expect(polls).toBe(2);
  });

  test('are queried at most five times a second, and miss no change', async () => {
    const stream = follow();
    await next(stream);
    const begun = next(stream);
    await rests(1);
    const first = await ask();
    expect(await begun).toEqual([first]);
    const more = next(stream);
    await sleepers(2);
    const ids = [first, await ask(), await ask(), await ask()];
    expect(polls).toBe(2);
    clock.advance(200);
    expect(await more).toEqual(ids);
    expect(polls).toBe(3);
  });

  test('are neither queried nor watched without subscribers', async () => {
    const [one, two] = [follow(), follow()];
    await Promise.all([next(one), next(two)]);
    await one.return();
    expect(watchers).toBe(1);
    await two.return();
    while (watchers > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(clock.sleepers).toBe(0);
    await ask();
    clock.advance(60 * MINUTE);
    expect(polls).toBe(1);
  });

  test('reconnect after a failed query, and report the failure to each subscriber', async () => {
    const streams = [follow(), follow()];
    await Promise.all(streams.map(next));
    const reported = streams.map(next);
    await rests(2);
    broken = new Error('the database is away');
    const id = await ask();
    for (const each of reported) await expect(each).rejects.toThrow('the database is away');
    broken = undefined;
    expect(await next(follow())).toEqual([id]);
    expect(watchers).toBe(1);
  });

  test('send a keepalive after each quiet interval, and end in time', async () => {
    const stream = follow(ALICE, after(20_000));
    expect(await next(stream)).toEqual([]);
    const quiet = next(stream);
    await rests(1);
    clock.advance(14_800);
    expect(await quiet).toBeNull();
    const end = next(stream);
    await sleepers(1);
    clock.advance(5_000);
    expect(await end).toBe('end');
  });
});
