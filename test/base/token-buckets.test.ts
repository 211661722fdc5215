import { describe, expect, test } from '@jest/globals';
import { TokenBuckets } from '#base/concurrency.ts';
import { pinnedClock } from '../doubles/pinned-clock.ts';

const settled = () => new Promise((resolve) => setImmediate(resolve));
const START = new Date('2030-03-01T12:00:00.000Z');

describe('a pace of starts', () => {
  /** Three at once, then two per second; records the owners in the order of their starts. */
  const fixture = () => {
    const clock = pinnedClock(START);
    const pace = new TokenBuckets(3, 2, clock);
    const started: string[] = [];
    const start = async (owner: string, signal?: AbortSignal): Promise<void> => {
      await pace.start(owner, () => signal);
      started.push(owner);
    };
    return { clock, pace, started, start };
  };

  test('lets a burst start at once, and then spaces the starts of this owner only', async () => {
    const { clock, started, start } = fixture();
    for (const owner of ['ann', 'ann', 'ann', 'ann', 'ann', 'bob']) void start(owner);
    await settled();
    expect(started).toEqual(['ann', 'ann', 'ann', 'bob']);
    clock.advance(499);
    await settled();
    expect(started).toHaveLength(4);
    clock.advance(1);
    await settled();
    expect(started).toHaveLength(5);
    clock.advance(500);
    await settled();
    expect(started).toHaveLength(6);
  });

  test('returns no promise for a start that does not wait', () => {
    const { pace } = fixture();
    expect(pace.start('ann', () => undefined)).toBeUndefined();
  });

  test('lets a whole burst start again after a pause', async () => {
    const { clock, pace, start } = fixture();
    for (let count = 0; count < 3; count += 1) void start('ann');
    clock.advance(1_500);
    const again = Array.from({ length: 3 }, () => pace.start('ann', () => undefined));
    expect(again).toEqual([undefined, undefined, undefined]);
    expect(pace.start('ann', () => undefined)).toBeInstanceOf(Promise);
  });

  test('throws the reason of an aborted wait', async () => {
    const { start } = fixture();
    for (let count = 0; count < 3; count += 1) void start('ann');
    const gone = new AbortController();
    const waiting = start('ann', gone.signal);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
  });

  test('waits no longer than a burst takes to refill, after many aborted starts', async () => {
    const { clock, started, start } = fixture();
    const aborted = AbortSignal.abort(new Error('gone'));
    for (let count = 0; count < 100; count += 1) start('ann', aborted).catch(() => undefined);
    await settled();
    const before = started.length;
    void start('ann');
    clock.advance(1_500);
    await settled();
    expect(started).toHaveLength(before + 1);
  });

  test('waits no longer than that after the clock was set back', async () => {
    const { clock, started, start } = fixture();
    void start('ann');
    clock.advance(-3_600_000);
    void start('ann');
    clock.advance(1_500);
    await settled();
    expect(started).toEqual(['ann', 'ann']);
  });
});
