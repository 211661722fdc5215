import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createSandboxEventPublisher } from '#core/sandboxes/sandbox-event-publisher.ts';
import type { Records } from '#core/records.ts';

function publisherThatKeeps(written: unknown[][], delayMs?: number) {
  const append: Records['sandboxEvents']['append'] = async (_id, events) => {
    written.push(events.map(({ data }) => data['command']));
  };
  return createSandboxEventPublisher({
    records: { sandboxEvents: { append } as Records['sandboxEvents'] },
    clock: { now: () => new Date(0) },
    redact: (text) => text,
    failed: (error) => {
      throw error;
    },
    delayMs,
  });
}

test.each([
  ['each turn of the event loop by itself', undefined, [['one'], ['two']]],
  ['what happens within the delay at once', 3_600_000, [['one', 'two']]],
])('writes %s, and before it is settled', async (_what, delayMs, expected) => {
  const written: unknown[][] = [];
  const publisher = publisherThatKeeps(written, delayMs);
  publisher.publish('box', 'exec', { command: 'one' });
  await turn();
  await turn();
  publisher.publish('box', 'exec', { command: 'two' });
  await publisher.settled();
  expect(written).toEqual(expected);
});
