import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { ERROR_CATALOGUE, type ErrorCode, PortholeError as ServerError } from '#base/errors.ts';
import { errorResponse } from '#handlers/http/render-errors.ts';
import type { Logger } from '#handlers/services.ts';
import { HttpClient } from '../../client/http/http-client.ts';
import { PortholeError } from '../../client/http/porthole-error.ts';
import { readRetryAfter, retryDelay } from '../../client/http/retry-delay.ts';
import { Porthole } from '../../client/index.ts';
import { Servers } from '../../client/resources/servers.ts';

const KEY = 'key-0123456789abcdef';

/** A client that receives these responses in order. */
function answered(...answers: (Response | Error)[]): { client: HttpClient; asked: () => number } {
  let count = 0;
  const fetch = (): Promise<Response> => {
    const answer = answers[count];
    count += 1;
    if (answer === undefined) throw new Error('asked too often');
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  return { client: new HttpClient({ url: 'http://porthole.test', apiKey: KEY, fetch }), asked: () => count };
}

function refusal(status: number, code: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error: `no: ${code}`, code }, { status, headers });
}

async function failure(work: Promise<unknown>): Promise<PortholeError> {
  return (await work.then(
    () => expect(undefined).toBe('a refusal'),
    (error: unknown) => error,
  )) as PortholeError;
}

const AT_ONCE = { 'retry-after': '0' };

test('resumes output after an error of the stream that may pass, and ends at another', async () => {
  const broken = (retryable: boolean) => {
    const error = JSON.stringify({ error: 'The sandbox has ended.', code: 'ended', retryable });
    const frames = `retry: 1\n\nid: 3\nevent: stdout\ndata: aGk=\n\nevent: error\ndata: ${error}\n\n`;
    return new Response(frames, { headers: { 'content-type': 'text/event-stream' } });
  };
  const { client, asked } = answered(broken(true), broken(false));
  const output = new Servers(client, 'v1/sandbox/a').logs('web');
  for (const _ of [1, 2]) expect((await output.next()).value).toMatchObject({ type: 'stdout', cursor: 3 });
  expect(await failure(output.next())).toMatchObject({ message: 'The sandbox has ended.', code: 'ended' });
  expect(asked()).toBe(2);
});

describe('a call of the client', () => {
  test('is refused as the API says', async () => {
    const { client } = answered(
      Response.json(
        { error: 'no such sandbox', code: 'sandbox_not_found', request_id: 'r1' },
        { status: 404 },
      ),
    );
    const error = await failure(client.json('GET v1/sandbox/a'));
    expect(error).toBeInstanceOf(PortholeError);
    expect(error).toMatchObject({
      message: 'no such sandbox',
      status: 404,
      code: 'sandbox_not_found',
      retryable: false,
      requestId: 'r1',
    });
  });

  test('is repeated where the API says when, and it is idempotent', async () => {
    const { client, asked } = answered(
      refusal(429, 'too_many_previews', AT_ONCE),
      refusal(503, 'service_unavailable', AT_ONCE),
      Response.json({ ok: true }),
    );
    expect(await client.json('GET v1/sandbox')).toEqual({ ok: true });
    expect(asked()).toBe(3);
  });

  test('is repeated three times, and no more', async () => {
    const { client, asked } = answered(
      ...Array.from({ length: 4 }, () => refusal(503, 'service_unavailable', AT_ONCE)),
    );
    expect(await failure(client.json('GET v1/sandbox'))).toMatchObject({ status: 503 });
    expect(asked()).toBe(4);
  });

  test.each([
    ['that is not idempotent', 'POST v1/sandbox', undefined],
    ['with a stream as its body', 'PUT v1/sandbox/a/file/b', new Blob(['x']).stream()],
  ] as const)('%s is made once', async (_, route, content) => {
    const { client, asked } = answered(refusal(503, 'service_unavailable', AT_ONCE));
    expect(await failure(client.send(route, content && { content }))).toMatchObject({ status: 503 });
    expect(asked()).toBe(1);
  });

  test('reports that it got no answer, without its credential', async () => {
    const lost = Object.assign(new TypeError('fetch failed'), {
      cause: new Error(`connect to ${KEY} refused`),
    });
    const { client } = answered(lost);
    const error = await failure(client.json('POST v1/sandbox'));
    expect(error).toMatchObject({ status: 0, code: 'unreachable', retryable: true });
    expect(error.message).toBe(
      'Porthole could not be reached at http://porthole.test for POST /v1/sandbox (connect to [secret] refused): see that it runs, and that the URL is right.',
    );
  });

  test('does not repeat its credential from the words of a refusal', async () => {
    const { client } = answered(
      Response.json({ error: `bad key ${KEY}`, code: 'invalid_request' }, { status: 400 }),
    );
    expect((await failure(client.json('GET a'))).message).toBe('bad key [secret]');
  });

  test('reports that an intermediary answered it', async () => {
    const { client } = answered(new Response('<html>', { status: 418 }));
    expect(await failure(client.json('GET a'))).toMatchObject({
      code: 'status_418',
      message:
        'GET /a was answered with status 418, and not by Porthole: see that the URL is that of its API.',
    });
  });

  test('rejects with the reason of its signal', async () => {
    const { client } = answered();
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(client.json('GET a', { signal })).rejects.toThrow('enough');
  });
});

describe('an error that Porthole answers', () => {
  const log = { error: () => undefined } as unknown as Logger;

  test.each(Object.entries(ERROR_CATALOGUE))(
    'tells whether a call that met %s may be repeated',
    async (code, entry) => {
      const answer = errorResponse(new ServerError(code as ErrorCode, 'no'), 'r1', log, 'test');
      const { client } = answered(
        ...Array.from(
          { length: 4 },
          () => new Response(answer.body as string, { status: answer.statusCode, headers: AT_ONCE }),
        ),
      );
      const error = await failure(client.json('GET v1/sandbox'));
      expect(error).toMatchObject({ status: entry.status, retryable: entry.retryable });
    },
  );

  test.each([
    [404, false],
    [429, true],
    [500, true],
    [501, false],
    [502, true],
  ])('falls back to its status %d', async (status, retryable) => {
    const { client } = answered(
      ...Array.from({ length: 4 }, () => new Response('<html>', { status, headers: AT_ONCE })),
    );
    expect(await failure(client.json('GET v1/sandbox'))).toMatchObject({ status, retryable });
  });
});

describe('the pause before a call is repeated', () => {
  const error = { status: 503, retryable: true, retryAfterMs: undefined };

  test('grows', () => {
    expect([0, 1, 2].map((retries) => retryDelay(error, retries, 1))).toEqual([200, 400, 800]);
    expect([0, 1, 2].map((retries) => retryDelay(error, retries, 0))).toEqual([100, 200, 400]);
  });

  test.each([
    ['after three', error, 3],
    ['for a quota, which says no time', { ...error, status: 429 }, 0],
    ['for a fault of the API, which may have done half of it', { ...error, status: 500 }, 0],
    ['for more patience than there is', { ...error, retryAfterMs: 30_001 }, 0],
  ])('is none %s', (_, refused, retries) => {
    expect(retryDelay(refused, retries, 1)).toBeUndefined();
  });

  test.each([
    ['5', 5_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 7_000],
    ['Sun, 06 Nov 1994 08:49:00 GMT', 0],
    ['soon', undefined],
    [null, undefined],
  ])('is read of Retry-After: %s', (header, ms) => {
    expect(readRetryAfter(header, new Date('1994-11-06T08:49:30Z'))).toBe(ms);
  });
});

describe('a client', () => {
  test.each([
    ['no URL', { url: 'porthole' }, 'url must be the http(s) address'],
    ['a URL with a password', { url: 'http://a:b@porthole.test' }, 'url must have no user'],
    [
      'a key with a line break',
      { url: 'http://porthole.test', apiKey: `${KEY}\n` },
      'apiKey must be printable ASCII',
    ],
  ])('is not made of %s', (_, options, message) => {
    expect(() => new Porthole(options)).toThrow(message);
    expect(() => new Porthole(options)).not.toThrow(KEY);
  });
});

describe('a call that waits for a decision', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** A client behind a gateway that ends calls after `heldMs`, until the decision after `calls`. */
  const behindGateway = (heldMs: number, calls: number) => {
    let now = 0;
    let asked = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const fetch = (): Promise<Response> => {
      asked += 1;
      now += heldMs;
      const timedOut = Response.json(
        { message: 'Endpoint request timed out' },
        { status: 504, headers: AT_ONCE },
      );
      return Promise.resolve(asked <= calls ? timedOut : Response.json({ session_id: 's' }));
    };
    return {
      client: new HttpClient({ url: 'http://porthole.test', apiKey: KEY, fetch }),
      asked: () => asked,
    };
  };
  const call = { isIdempotent: true, timeoutMs: 0, waits: true } as const;

  test('is repeated for five minutes behind a gateway with a limit of 29 seconds', async () => {
    const { client, asked } = behindGateway(29_000, 10);
    expect(await client.json('POST a', call)).toEqual({ session_id: 's' });
    expect(asked()).toBe(11);
  });

  test('is repeated three times where the gateway answers at once', async () => {
    const { client, asked } = behindGateway(10, 10);
    expect(await failure(client.json('POST a', call))).toMatchObject({ status: 504 });
    expect(asked()).toBe(4);
  });

  test('ends after the time in which a person decides', async () => {
    const { client, asked } = behindGateway(29_000, 100);
    expect(await failure(client.json('POST a', call))).toMatchObject({ status: 504 });
    // Eleven within 330 seconds, and three retries after them.
    expect(asked()).toBe(14);
  });

  test('is repeated three times where it does not wait', async () => {
    const { client, asked } = behindGateway(29_000, 10);
    expect(await failure(client.json('POST a', { ...call, waits: false }))).toMatchObject({ status: 504 });
    expect(asked()).toBe(4);
  });
});
