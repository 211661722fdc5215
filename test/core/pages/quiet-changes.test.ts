import { setImmediate as settle } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { quietChanges } from '#core/pages/quiet-changes.ts';
import { createWakeSignal } from '#base/wake-signal.ts';
import { pinnedClock } from '#test/doubles/pinned-clock.ts';

/** A source that a test feeds, and the batches of names so far. */
function watching() {
  const clock = pinnedClock(new Date('2026-01-01T00:00:00Z'));
  const names: string[] = [];
  const over = new AbortController();
  const wake = createWakeSignal(clock, [over.signal]);
  async function* source(signal: AbortSignal): AsyncGenerator<string, void> {
    signal.addEventListener('abort', wake.notify);
    while (!signal.aborted) {
      const name = names.shift();
      if (name === undefined) await wake.until(new Date(8_640_000_000_000_000));
      else yield name;
    }
  }
  const batches: string[] = [];
  let work: () => Promise<void> = () => Promise.resolve();
  const done = (async () => {
    for await (const batch of quietChanges(clock, (signal) => [source(signal)], over.signal)) {
      batches.push(batch.join(' '));
      await work();
    }
  })();
  return {
    batches,
    async change(...changed: string[]) {
      names.push(...changed);
      wake.notify();
      await settle();
    },
    async pass(milliseconds: number) {
      clock.advance(milliseconds);
      await settle();
    },
    /** Each batch takes that long, and the names change meanwhile. */
    works(milliseconds: number, ...changed: string[]) {
      work = async () => {
        names.push(...changed);
        wake.notify();
        await settle();
        clock.advance(milliseconds);
      };
    },
    async end() {
      over.abort();
      await done;
    },
  };
}

describe('quiet changes', () => {
  test('come together once nothing has changed for a second', async () => {
    const seen = watching();
    await seen.change('b.ts', 'a.ts');
    await seen.pass(900);
    await seen.change('b.ts');
    await seen.pass(900);
    expect(seen.batches).toEqual([]);
    await seen.pass(100);
    expect(seen.batches).toEqual(['a.ts b.ts']);
    await seen.pass(60_000);
    expect(seen.batches).toHaveLength(1);
    await seen.end();
  });

  test('leave four times the time of the work between two batches', async () => {
    const seen = watching();
    seen.works(3_000);
    await seen.change('a.ts');
    await seen.pass(1_000);
    await seen.change('a.ts');
    await seen.pass(11_999);
    expect(seen.batches).toHaveLength(1);
    await seen.pass(1);
    expect(seen.batches).toHaveLength(2);
    await seen.end();
  });

  test('ignore what the work itself changes each time, until it changes otherwise', async () => {
    const seen = watching();
    seen.works(100, 'visits.json');
    await seen.change('a.ts');
    for (let at = 0; at < 20; at += 1) await seen.pass(1_000);
    expect(seen.batches).toEqual(['a.ts', 'visits.json', 'visits.json']);
    await seen.change('visits.json');
    await seen.pass(1_000);
    expect(seen.batches).toHaveLength(4);
    await seen.end();
  });

  test('end with the error of a source', async () => {
    const clock = pinnedClock(new Date(0));
    async function* broken(): AsyncGenerator<string, void> {
      yield 'a.ts';
      throw new Error('watch lost');
    }
    const changes = quietChanges(clock, () => [broken()], new AbortController().signal);
    await expect(changes.next()).rejects.toThrow('watch lost');
  });
});
