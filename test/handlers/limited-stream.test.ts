import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { PassThrough, type Readable } from 'node:stream';
import { limitedStream } from '#handlers/http/limited-stream.ts';

const MINUTE = 60_000;

describe('a body', () => {
  let source: PassThrough;
  let body: Readable;
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    source = new PassThrough({ highWaterMark: 1 << 20 });
    body = limitedStream(source, {
      bytes: 1 << 20,
      tooLarge: () => new Error('too large'),
      cutOff: () => new Error('cut off'),
    });
  });
  afterEach(() => {
    jest.useRealTimers();
    source.destroy();
  });
  const next = () => body.iterator({ destroyOnReturn: false }).next() as Promise<{ value: Buffer }>;
  const turn = () => new Promise(setImmediate);

  test('that stalls while it is read fails after a minute', async () => {
    source.write('first');
    expect((await next()).value.toString()).toBe('first');
    const rest = next();
    await turn();
    jest.advanceTimersByTime(MINUTE - 1);
    source.write('second');
    expect((await rest).value.toString()).toBe('second');
    const failed = expect(next()).rejects.toMatchObject({
      code: 'request_timeout',
      message: expect.stringMatching(/^No bytes of the body arrived for 60 seconds/),
    });
    await turn();
    jest.advanceTimersByTime(MINUTE);
    await failed;
  });

  test('waits for a slow reader as long as it takes', async () => {
    for (let at = 0; at < 8; at += 1) {
      source.write(String(at));
      await turn();
    }
    jest.advanceTimersByTime(10 * MINUTE);
    const seen: string[] = [];
    source.end();
    for await (const piece of body as AsyncIterable<Buffer>) seen.push(piece.toString());
    expect(seen.join('')).toBe('01234567');
    expect(jest.getTimerCount()).toBe(0);
  });
});
