import { expect, test } from '@jest/globals';
import type { SandboxObservation } from '#core/sandboxes/sandbox-provider.ts';
import { GuestWatcher } from '#core/processes/watch-guests.ts';
import { systemClock } from '#adapters/system/clock-and-random-ids.ts';

test('follows a sandbox that starts again while its end is noticed', async () => {
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
