import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { openSqliteRecords } from '#adapters/sql/sqlite/open-sqlite-records.ts';
import type { Records } from '#core/records.ts';
import { type EventStreamOptions, streamEvents } from '#core/runs/event-log.ts';
import { aRun } from '#test/contracts/records/samples.ts';
import { type PinnedClock, pinnedClock } from '#test/doubles/pinned-clock.ts';

const NOON = new Date('2026-03-01T12:00:00.000Z');
const HOUR = 3_600_000;

describe('streaming a timeline', () => {
  let records: Records;
  let clock: PinnedClock;
  let leave: AbortController;
  beforeEach(async () => {
    records = openSqliteRecords({ file: ':memory:' });
    await records.migrate();
    await records.runs.create(aRun('run_1'));
    clock = pinnedClock(NOON);
    leave = new AbortController();
  });
  afterEach(() => records.close());

  let reported = 0;
  const report = async (count: number, from: Records = records) => {
    for (let at = 0; at < count; at += 1) {
      const key = `key-${(reported += 1)}`;
      await from.timeline.append('run_1', [{ type: 'preview.kept', key, data: {} }], clock.now());
    }
  };
  const follow = (change: Partial<EventStreamOptions> = {}, from: Records = records) =>
    streamEvents(from.timeline, clock, {
      id: 'run_1',
      turnOwner: 'ada',
      after: 0,
      quietMs: 15_000,
      until: new Date(NOON.getTime() + HOUR),
      signals: [undefined, leave.signal],
      ...change,
    });
  const take = async (events: ReturnType<typeof follow>, count: number) => {
    const taken: (number | string | undefined)[] = [];
    while (taken.length < count) {
      const { done, value } = await events.next();
      taken.push(done === true ? 'end' : value?.seq);
      if (done === true) break;
    }
    return taken;
  };
  /** Once it waits, and only a notification or the clock can wake it. */
  const waits = async () => {
    while (clock.sleepers === 0) await new Promise((resolve) => setImmediate(resolve));
  };

  test('returns stored events after the cursor, then new ones', async () => {
    await report(3);
    const all = follow();
    const late = follow({ after: 2 });
    expect(await take(all, 3)).toEqual([1, 2, 3]);
    expect(await take(late, 1)).toEqual([3]);
    const next = take(all, 2);
    await waits();
    await report(2);
    expect(await next).toEqual([4, 5]);
    expect(await take(late, 2)).toEqual([4, 5]);
  });

  test('sends a keepalive after each quiet interval', async () => {
    const events = follow();
    for (let round = 0; round < 3; round += 1) {
      const next = take(events, 1);
      await waits();
      clock.advance(14_999);
      expect(clock.sleepers).toBe(1);
      clock.advance(1);
      expect(await next).toEqual([undefined]);
    }
  });

  test('measures the quiet interval from the last event', async () => {
    const events = follow();
    const first = take(events, 1);
    await waits();
    clock.advance(14_000);
    await report(1);
    expect(await first).toEqual([1]);
    const second = take(events, 1);
    await waits();
    clock.advance(14_999);
    expect(clock.sleepers).toBe(1);
    clock.advance(1);
    expect(await second).toEqual([undefined]);
  });

  test('polls for events that no notification announced', async () => {
    const deaf: Records = { ...records, timeline: { ...records.timeline, watch: () => () => undefined } };
    const events = follow({}, deaf);
    const next = take(events, 1);
    await waits();
    await report(1);
    clock.advance(14_999);
    expect(clock.sleepers).toBe(1);
    clock.advance(1);
    expect(await next).toEqual([1]);
  });

  test('ends when the signal is aborted: before it starts, while it waits and between two events', async () => {
    const waiting = follow();
    const ended = take(waiting, 1);
    await waits();
    leave.abort();
    expect(await ended).toEqual(['end']);
    expect(clock.sleepers).toBe(0);
    await report(3);
    expect(await take(follow(), 1)).toEqual(['end']);
  });

  test('ends at its deadline', async () => {
    const events = follow({ until: new Date(NOON.getTime() + 20_000) });
    const first = take(events, 1);
    await waits();
    clock.advance(15_000);
    expect(await first).toEqual([undefined]);
    const last = take(events, 1);
    await waits();
    clock.advance(5_000);
    expect(await last).toEqual(['end']);
  });

  test('stops watching once the consumer leaves', async () => {
    let watching = 0;
    const counted: Records = {
      ...records,
      timeline: {
        ...records.timeline,
        watch(runId, wake) {
          watching += 1;
          const end = records.timeline.watch(runId, wake);
          return () => {
            watching -= 1;
            end();
          };
        },
      },
    };
    const events = follow({}, counted);
    await report(1);
    await take(events, 1);
    expect(watching).toBe(1);
    await events.return(undefined);
    expect(watching).toBe(0);
  });

  test('delivers each event once and in order, with concurrent appends and resumes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(250), { minLength: 1, maxLength: 4 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 6 }),
        async (appends, stays) => {
          const id = `run-${(reported += 1)}`;
          await records.runs.create(aRun(id));
          const total = appends.reduce((sum, count) => sum + count, 0);
          const appending = Promise.all(
            appends.map(async (count, writer) => {
              for (let at = 0; at < count; at += 5) {
                const some = Array.from({ length: Math.min(5, count - at) }, (_, each) => ({
                  type: 'preview.kept' as const,
                  key: `${writer}-${at + each}`,
                  data: {},
                }));
                await records.timeline.append(id, some, NOON);
              }
            }),
          );
          const seen: number[] = [];
          const lengths = [...stays, Number.POSITIVE_INFINITY];
          for (let at = 0; seen.length < total; at += 1) {
            let left = lengths[at] ?? 0;
            for await (const event of follow({ id, after: seen.at(-1) ?? 0 })) {
              if (event !== undefined) seen.push(event.seq);
              if (seen.length === total || (left -= 1) <= 0) break;
            }
          }
          await appending;
          expect(seen).toEqual(Array.from({ length: total }, (_, at) => at + 1));
        },
      ),
      { numRuns: 30 },
    );
  });
});
