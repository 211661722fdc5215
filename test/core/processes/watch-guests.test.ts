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
    sandboxes: {
      inspect: () => {
        inspected.resolve();
        return stopped.promise;
      },
    },
    records: { sandboxes: { get: async () => undefined } } as never,
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
    sandboxes: { inspect: async () => ({ state: 'running', podName: 'box' }) },
    records: { sandboxes: { get: async () => undefined } } as never,
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

test('disconnects a guest that floods, and reads no event beyond its limit', async () => {
  let sent = 0;
  let connections = 0;
  const flooded = Promise.withResolvers<unknown>();
  const published: string[] = [];
  const watcher = new GuestWatcher({
    guests: {
      of: () =>
        ({
          async *events() {
            connections += 1;
            for (;;) {
              sent += 1;
              const data = {
                port: 1 + (sent % 60_000),
                state: 'closed',
                at: '2026-01-01T00:00:00Z',
                listener: null,
              };
              yield { event: 'port', data: JSON.stringify(data), id: undefined };
            }
          },
        }) as never,
    },
    sandboxes: { inspect: async () => ({ state: 'running', podName: 'box' }) },
    records: {
      sandboxes: { get: async () => undefined },
      runs: { inSandbox: async () => [] },
    } as never,
    publisher: { publish: (_id, type) => void published.push(type) },
    // Without new tokens.
    clock: { ...systemClock, now: () => new Date(0) },
    redact: (text) => text,
    failed: (_id, error) => flooded.resolve(error),
  });
  watcher.watch('box');
  expect(String(await flooded.promise)).toContain('too fast');
  expect(sent).toBe(2_001);
  expect(published.length).toBe(300);
  expect(connections).toBe(1);
  await watcher.close();
});
