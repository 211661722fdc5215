import { afterEach, expect, test } from '@jest/globals';
import { TrafficCounter } from '#core/usage/traffic-counter.ts';
import type { UsageReading } from '#core/usage/usage-store.ts';

const clock = { now: () => new Date('2026-03-01T12:00:00.000Z') };
let counter: TrafficCounter;
afterEach(() => counter.close());

function counting(failing: { times: number } = { times: 0 }) {
  const added: UsageReading[] = [];
  const failures: unknown[] = [];
  counter = new TrafficCounter({
    usage: {
      async add(readings) {
        if (failing.times > 0) {
          failing.times -= 1;
          throw new Error('away');
        }
        added.push(...readings);
      },
    },
    clock,
    failed: (error) => failures.push(error),
  });
  return { added, failures };
}

test('counts each sandbox for itself, and never counts back', async () => {
  const { added } = counting();
  counter.add('one', { egressBytes: 5 });
  counter.add('one', { egressBytes: 7, lookS: 2 });
  counter.add('two', { previewBytes: 1 });
  await counter.write();
  counter.add('one', { egressBytes: 1 });
  await counter.write();
  const one = added.filter(({ sandboxId }) => sandboxId === 'one');
  expect(one.map(({ counted }) => counted.egressBytes)).toEqual([12, 13]);
  expect(new Set(one.map(({ source }) => source)).size).toBe(1);
  expect(added.filter(({ sandboxId }) => sandboxId === 'two').map(({ isLast }) => isLast)).toEqual([
    false,
    true,
  ]);
});

test('ends a counter that is not used, and begins another with another name', async () => {
  const { added } = counting();
  counter.add('one', { egressBytes: 5 });
  await counter.write();
  await counter.write();
  await counter.write();
  counter.add('one', { egressBytes: 1 });
  await counter.close();
  expect(added.map(({ counted, isLast }) => [counted.egressBytes, isLast])).toEqual([
    [5, false],
    [5, true],
    [1, true],
  ]);
  expect(added[2]?.source).not.toBe(added[0]?.source);
});

test('loses nothing where the records are away', async () => {
  const { added, failures } = counting({ times: 2 });
  counter.add('one', { egressBytes: 5 });
  await counter.write();
  counter.add('one', { egressBytes: 5 });
  await counter.write();
  await counter.write();
  expect(failures).toHaveLength(2);
  expect(added.map(({ counted }) => counted.egressBytes)).toEqual([10]);
});
