import { expect, test } from '@jest/globals';
import type { SandboxObservation } from '#core/sandboxes/sandbox-provider.ts';
import { GuestWatcher } from '#core/processes/watch-guests.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';

test('follows a sandbox that restarts while its end is detected', async () => {
  const connected = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const inspected = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<SandboxObservation>();
  let connections = 0;
  const watcher = new GuestWatcher({
    guests: {
      of: () => {
        connected[connections++]?.resolve();
        throw new Error('not there');
      },
    },
    provider: {
      inspect: () => {
        inspected.resolve();
        return stopped.promise;
      },
    },
    records: {} as never,
    publisher: { publish: () => undefined },
    clock: systemClock,
    redact: (text) => text,
    failed: () => undefined,
  });
  watcher.watch('box');
  await inspected.promise;
  watcher.watch('box');
  stopped.resolve({ state: 'stopped', podName: 'box' });
  await Promise.all(connected.map(({ promise }) => promise));
  await watcher.close();
  expect(connections).toBe(2);
});

test('shares one connection among subscribers, and closes it with the last', async () => {
  const connected = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let connections = 0;
  const watcher = new GuestWatcher({
    guests: {
      of: () =>
        ({
          async *events(_path: string, signal: AbortSignal) {
            connections += 1;
            connected.resolve();
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
            ended.resolve();
            yield* [];
          },
        }) as never,
    },
    provider: { inspect: async () => ({ state: 'running', podName: 'box' }) },
    records: {} as never,
    publisher: { publish: () => undefined },
    clock: systemClock,
    redact: (text) => text,
    failed: () => undefined,
  });
  const leave = [watcher.follow('box'), watcher.follow('box')];
  await connected.promise;
  leave[0]?.();
  leave[0]?.();
  expect(connections).toBe(1);
  leave[1]?.();
  await ended.promise;
  await watcher.close();
  expect(connections).toBe(1);
});
