import { expect, test } from '@jest/globals';
import { type EventLog, streamEvents } from '#core/runs/event-log.ts';
import { later } from '#base/clock-and-ids.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';
import { passesOf } from '#test/doubles/loop-passes.ts';

const clock = pinnedClock(new Date('2026-03-01T12:00:00.000Z'));

/** A log in memory, with reads that block the event loop for longer than a turn, as SQLite does. */
function blockingLog(onRead: () => void): EventLog<number, { readonly seq: number }> {
  return {
    async read(_id, { after }) {
      await Promise.resolve();
      const until = performance.now() + 6;
      while (performance.now() < until);
      onRead();
      return { events: [{ seq: after + 1 }], more: after < 2 };
    },
    watch: () => () => undefined,
  };
}

test('lets others use the event loop while an owner opens many streams of a long log', async () => {
  const passes = passesOf();
  const log = blockingLog(passes.count);
  const left = new AbortController();
  const follow = async () => {
    const options = {
      id: 'run_1',
      turnOwner: 'ada',
      after: 0,
      quietMs: 15_000,
      until: later(clock, 3_600_000),
      signals: [left.signal],
    };
    for await (const event of streamEvents(log, clock, options)) if (event?.seq === 3) break;
  };
  await Promise.all(Array.from({ length: 12 }, follow));
  passes.end();
  left.abort();
  expect(passes.total).toBe(36);
  expect(passes.most).toBeLessThanOrEqual(3);
});
