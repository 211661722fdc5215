import { describe, expect, test } from '@jest/globals';
import { followEvents } from '../../console/src/live/browser-event-stream.ts';

describe('event stream', () => {
  function script(answers: readonly (() => Response)[], after?: string) {
    const asked: (string | undefined)[] = [];
    const pauses: number[] = [];
    const ended = new AbortController();
    const notice: string[] = [];
    const done = followEvents('/events', {
      onEvent: ({ data }) => notice.push(data),
      signal: ended.signal,
      ...(after === undefined ? {} : { after }),
      fetch: (_address, { headers }) => {
        asked.push((headers as Record<string, string>)['last-event-id']);
        const answer = answers[asked.length - 1];
        if (answer === undefined) {
          ended.abort();
          return Promise.reject(new Error('no more'));
        }
        return Promise.resolve(answer());
      },
      pause: (milliseconds) => {
        pauses.push(milliseconds);
        return Promise.resolve();
      },
    });
    return done.then(() => ({ asked, pauses, notice }));
  }

  test('reads events of several lines, of both line ends and between comments', async () => {
    const text = 'id: 1\nevent: a\ndata: x\n\n: heartbeat\n\nid: 2\r\ndata: y\r\ndata: z\r\n\r\n';
    const { asked, notice } = await script([() => new Response(text)]);
    expect([asked, notice]).toEqual([
      [undefined, '2'],
      ['x', 'y\nz'],
    ]);
  });

  test('reconnects with the id of the last event it received', async () => {
    const result = await script([
      () => new Response('id: 7\ndata: one\n\n'),
      () => new Response('id: 8\ndata: two\n\n'),
    ]);
    expect(result).toEqual({ asked: [undefined, '7', '8'], pauses: [1_000, 1_000], notice: ['one', 'two'] });
  });

  test('resumes after the last known event, and reconnects after 429', async () => {
    const result = await script(
      [() => new Response('', { status: 429 }), () => new Response('id: 8\ndata: two\n\n')],
      '7',
    );
    expect([result.asked, result.notice]).toEqual([['7', '7', '8'], ['two']]);
  });

  test('backs off after each failure, and uses the server’s retry time once connected', async () => {
    const result = await script([
      () => new Response('', { status: 503 }),
      () => new Response('', { status: 503 }),
      () => new Response('', { status: 503 }),
      () => new Response('retry: 20\n\n'),
    ]);
    expect(result.pauses).toEqual([1_000, 2_000, 4_000, 20]);
  });

  test('never waits longer than 15 seconds', async () => {
    const result = await script(Array.from({ length: 8 }, () => () => new Response('', { status: 503 })));
    expect(result.pauses).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000, 15_000]);
  });

  test.each([401, 403, 404])('stops reconnecting after status %d', async (status) => {
    const result = await script([() => new Response('', { status })]);
    expect(result).toEqual({ asked: [undefined], pauses: [], notice: [] });
  });
});
