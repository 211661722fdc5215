import { expect, test } from '@jest/globals';
import { z } from 'zod';
import type { ChainEvent } from '#handlers/http/admit.ts';
import { readInput } from '#handlers/http/read-input.ts';
import { defineRoute } from '#handlers/route.ts';
import { passesOf } from '#test/doubles/loop-passes.ts';

const caller = { kind: 'person', user: 'bob', org: 'b', admin: false } as const;

function eventOf(body: string): ChainEvent {
  return {
    version: '2.0',
    rawPath: '/',
    rawQueryString: '',
    headers: { 'content-type': 'application/json' },
    requestContext: { http: { method: 'POST' } },
    body,
    isBase64Encoded: false,
    caller,
  } as unknown as ChainEvent;
}

/** Sends the bodies at once; a check of each blocks the event loop for longer than a turn. */
async function sendAtOnce(body: string) {
  const passes = passesOf();
  const checked = z.looseObject({}).refine(() => {
    const until = performance.now() + 6;
    while (performance.now() < until);
    passes.count();
    return true;
  });
  const route = defineRoute('execCommand', 'POST', '/test', {
    tag: 'Runs',
    summary: '',
    body: checked,
    responses: {},
    handle: () => Promise.reject(new Error('not called')),
  });
  const { before } = readInput(route);
  await Promise.all(
    Array.from({ length: 20 }, () => before?.({ event: eventOf(body) } as Parameters<typeof before>[0])),
  );
  passes.end();
  return passes;
}

test('parses many large bodies of one owner in turns of the event loop', async () => {
  const passes = await sendAtOnce(JSON.stringify({ text: 'x'.repeat(20_000) }));
  expect(passes.total).toBe(20);
  expect(passes.most).toBeLessThanOrEqual(3);
});

test('delays no small body', async () => {
  const passes = await sendAtOnce('{}');
  expect(passes.total).toBe(20);
  expect(passes.most).toBe(20);
});
