import { PassThrough, Readable, Writable } from 'node:stream';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import { defineRoute, json, type Route, type RouteOptions } from '#handlers/route.ts';
import type { GatewayEvent, GatewayResult } from '#host/serverless/gateway-event.ts';
import { openNothing } from '#host/serverless/open-nothing.ts';
import { lazyRoute, type LazyRoute } from '#host/server/router.ts';
import { routerFunction } from '#host/serverless/router-function.ts';
import { TrustedProxies } from '#proxy/client-address.ts';
import { gatewayEvent } from './gateway-events.ts';

function route(part: Partial<Route> & Pick<Route, 'id' | 'path'>): Route {
  const options: RouteOptions = {
    tag: 'Test',
    summary: 'A route',
    access: 'anyone',
    responses: { 200: { description: 'It' } },
    handle: () => Promise.resolve(json(200, { from: part.id })),
    ...part,
  };
  return defineRoute(part.id, part.method ?? 'GET', part.path, options);
}

const bytes = (count: number) =>
  Readable.from(Array.from({ length: count }, () => Buffer.alloc(1024 * 1024)));
const ROUTES = [
  route({ id: 'home', path: '/' }),
  route({ id: 'list', path: '/api/things' }),
  route({
    id: 'get',
    path: '/api/things/{id}',
    params: z.object({ id: z.string() }),
    handle: ({ params }) => Promise.resolve(json(200, params)),
  }),
  route({
    id: 'read',
    path: '/api/files/{path}',
    params: z.object({ path: z.string() }),
    handle: ({ params }) =>
      Promise.resolve({
        statusCode: 200,
        headers: {},
        body: bytes(Number((params as { path: string }).path)),
      }),
  }),
  route({
    id: 'follow',
    path: '/api/events',
    responses: { 200: { description: 'Events', contentType: 'text/event-stream' } },
    handle: ({ signal }) => {
      const body = new Readable({ read: () => undefined });
      body.push('data: 1\n\n');
      signal?.addEventListener('abort', () => body.push(null));
      return Promise.resolve({ statusCode: 200, headers: { 'content-type': 'text/event-stream' }, body });
    },
  }),
  route({
    id: 'wait',
    path: '/api/decision',
    class: 'stream',
    // As a wait for an approval: it is withdrawn if the client has gone.
    async handle({ signal }, { stopping }) {
      const ends = [signal, stopping].filter((each) => each !== undefined);
      const any = AbortSignal.any(ends);
      if (!any.aborted) await new Promise((resolve) => any.addEventListener('abort', resolve));
      const what = signal?.aborted === true ? 'withdrawn' : 'still pending';
      throw new PortholeError('service_unavailable', what);
    },
  }),
  route({
    id: 'client',
    path: '/api/client',
    handle: ({ sourceIp }) => Promise.resolve(json(200, { client: sourceIp })),
  }),
  route({ id: 'terminal', path: '/api/pty', socket: true }),
  route({ id: 'secret', path: '/api/secret', access: 'caller' }),
];

/** The functions of these routes, and the ids of the routes with a loaded module. */
function functions(runtime?: Parameters<typeof routerFunction>[2]) {
  const loaded: string[] = [];
  let opened = 0;
  const lazy = ROUTES.map(
    (each): LazyRoute => ({
      ...lazyRoute(each),
      opens: each.access !== 'anyone' || each.class === 'stream',
      load: () => {
        loaded.push(each.id);
        return Promise.resolve(each);
      },
    }),
  );
  const open = async () => {
    opened += 1;
    const { services, options } = await openNothing();
    return { services: { ...services, stopping: new AbortController().signal }, options };
  };
  return { ...routerFunction(lazy, open, runtime), loaded, opened: () => opened };
}

const bodyOf = ({ body }: GatewayResult): unknown => JSON.parse(body);

const before = process.env['PORTHOLE_PUBLIC_URL'];
afterEach(() => {
  if (before === undefined) delete process.env['PORTHOLE_PUBLIC_URL'];
  else process.env['PORTHOLE_PUBLIC_URL'] = before;
});

describe('one function for all routes', () => {
  test('answers each request by its route, and loads the module of no other', async () => {
    const { handler, loaded, opened } = functions();
    expect(bodyOf(await handler(gatewayEvent('GET', '/api/things/a%20b')))).toEqual({ id: 'a b' });
    expect(bodyOf(await handler(gatewayEvent('GET', '/api/things/c')))).toEqual({ id: 'c' });
    expect(loaded).toEqual(['get']);
    expect(opened()).toBe(0);
    expect(await handler(gatewayEvent('GET', '/api/secret'))).toMatchObject({ statusCode: 401 });
    expect(opened()).toBe(1);
  });

  test.each([
    ['a stage', '/prod/api/things', 'prod', undefined],
    ['the base path of a domain', '/porthole/api/things', '$default', 'https://api.example.com/porthole/'],
    ['nothing, where a route has the name of the stage', '/api/things', 'api', undefined],
  ])('removes %s from the path', async (_what, path, stage, publicUrl) => {
    if (publicUrl !== undefined) process.env['PORTHOLE_PUBLIC_URL'] = publicUrl;
    const event = gatewayEvent('GET', path) as Extract<GatewayEvent, { rawPath: string }>;
    const { handler } = functions();
    const result = await handler({ ...event, requestContext: { ...event.requestContext, stage } });
    expect(bodyOf(result)).toEqual({ from: 'list' });
  });

  test.each(['/prod', '/prod/', '/', ''])('serves the root at %j', async (path) => {
    const event = gatewayEvent('GET', path) as Extract<GatewayEvent, { rawPath: string }>;
    const { handler } = functions();
    const result = await handler({ ...event, requestContext: { ...event.requestContext, stage: 'prod' } });
    expect(bodyOf(result)).toEqual({ from: 'home' });
  });

  test('does not take the end of an unknown path for a route', async () => {
    const { handler } = functions();
    expect(await handler(gatewayEvent('GET', '/other/api/things'))).toMatchObject({ statusCode: 404 });
  });

  test('refuses a parameter that is not percent-encoded UTF-8', async () => {
    const { handler } = functions();
    const result = await handler(gatewayEvent('GET', '/api/things/%E0%A4%A'));
    expect([result.statusCode, bodyOf(result)]).toMatchObject([400, { code: 'invalid_request' }]);
  });

  test('names the allowed methods of a path', async () => {
    const result = await functions().handler(gatewayEvent('POST', '/api/things'));
    expect([result.statusCode, result.headers?.['allow']]).toEqual([405, 'GET']);
  });

  test('answers a REST API in lists of values', async () => {
    const result = await functions().handler({
      httpMethod: 'GET',
      path: '/api/things',
      multiValueHeaders: { Host: ['api.example.com'] },
      requestContext: { requestId: 'r', stage: 'prod', identity: { sourceIp: '203.0.113.7' } },
    });
    expect(result).toMatchObject({
      statusCode: 200,
      multiValueHeaders: { 'content-type': ['application/json'], 'x-request-id': ['r'] },
    });
  });

  test("takes the client from a CDN's X-Forwarded-For, if the setting names the CDN", async () => {
    const ask = async (ranges: readonly string[] | undefined) => {
      const open = async () => ({
        ...(await openNothing()),
        ...(ranges !== undefined && { trustedProxies: new TrustedProxies(ranges) }),
      });
      const { handler } = routerFunction(
        ROUTES.map((each) => ({ ...lazyRoute(each), opens: true })),
        open,
      );
      const headers = { 'x-forwarded-for': '192.0.2.66, 198.51.100.4, 203.0.113.7' };
      return bodyOf(await handler(gatewayEvent('GET', '/api/client', { headers })));
    };
    expect(await ask(undefined)).toEqual({ client: '203.0.113.7' });
    expect(await ask([])).toEqual({ client: '203.0.113.7' });
    expect(await ask(['203.0.113.0/24'])).toEqual({ client: '198.51.100.4' });
  });

  test('answers HEAD without a body', async () => {
    expect(await functions().handler(gatewayEvent('HEAD', '/api/files/2'))).toMatchObject({
      statusCode: 200,
      body: '',
    });
  });

  test("ends a wait before the runtime's limit, where that comes before the gateway's", async () => {
    const context = { getRemainingTimeInMillis: () => 1_020 };
    const result = await functions().handler(gatewayEvent('GET', '/api/decision'), context);
    expect([result.statusCode, bodyOf(result)]).toMatchObject([503, { error: 'still pending' }]);
  });

  test('buffers a stream up to the limit of the runtime', async () => {
    const { handler } = functions();
    const result = await handler(gatewayEvent('GET', '/api/files/4'));
    expect(Buffer.from(result.body, 'base64').length).toBe(4 * 1024 * 1024);
    expect(await handler(gatewayEvent('GET', '/api/files/7'))).toMatchObject({
      statusCode: 413,
      body: expect.stringContaining('the limit of 6 MB'),
    });
  });

  test.each([
    ['/api/events', 'https://porthole.example.com', 'https://porthole.example.com/api/events'],
    ['/api/pty', 'https://porthole.example.com', 'https://porthole.example.com/api/pty'],
    ['/api/pty', undefined, 'the function host'],
  ])('refuses %s, which has no end, before it begins, with public URL %s', async (path, publicUrl, place) => {
    if (publicUrl === undefined) delete process.env['PORTHOLE_PUBLIC_URL'];
    else process.env['PORTHOLE_PUBLIC_URL'] = publicUrl;
    const { handler, loaded } = functions();
    const result = await handler(gatewayEvent('GET', path));
    expect([result.statusCode, bodyOf(result)]).toEqual([
      501,
      expect.objectContaining({
        code: 'not_streamable',
        retryable: false,
        remedy: `Send the request to ${place}.`,
      }),
    ]);
    expect(loaded).toEqual([]);
  });
});

/** AWS Lambda's runtime: the head of a response becomes part of the stream at the first write. */
function streamingRuntime() {
  const sent: { head?: object; text: string } = { text: '' };
  let streams = 0;
  const begun = Promise.withResolvers<void>();
  const runtime: Parameters<typeof routerFunction>[2] = {
    streamifyResponse: (handler) => {
      streams += 1;
      return handler;
    },
    HttpResponseStream: {
      from: (stream: Writable, head: object) => {
        const out = new Writable({
          write(chunk: Buffer, _encoding, done) {
            sent.head ??= head;
            sent.text += chunk.toString();
            if (sent.text !== '') begun.resolve();
            stream.write(chunk, done);
          },
        });
        return out;
      },
    },
  };
  return { runtime, sent, streams: () => streams, begun: begun.promise };
}

describe('one function for all routes that streams', () => {
  const sink = () => new Writable({ write: (_chunk, _encoding, done) => done() });

  test('is the buffering one on a runtime without streams', () => {
    const { handler, stream } = functions();
    expect(stream).toBe(handler);
  });

  test('sends the head and the body of any response', async () => {
    const { runtime, sent, streams } = streamingRuntime();
    const { stream } = functions(runtime);
    await stream(gatewayEvent('GET', '/api/things'), sink());
    expect(streams()).toBe(1);
    expect(sent).toMatchObject({
      head: { statusCode: 200, headers: { 'content-type': 'application/json', 'x-request-id': 'req-1' } },
      text: '{"from":"list"}',
    });
  });

  test('sends the head of a response without a body', async () => {
    const { runtime, sent } = streamingRuntime();
    await functions(runtime).stream(gatewayEvent('HEAD', '/api/things'), sink());
    expect(sent).toMatchObject({ head: { statusCode: 200 }, text: '' });
  });

  test('sends events while they happen, and ends before the runtime does', async () => {
    const { runtime, sent, begun } = streamingRuntime();
    const { stream } = functions(runtime);
    const ended = stream(gatewayEvent('GET', '/api/events'), sink(), {
      getRemainingTimeInMillis: () => 1_500,
    });
    await begun;
    expect(sent.text).toBe('data: 1\n\n');
    await ended;
    expect(sent.head).toMatchObject({ headers: { 'content-type': 'text/event-stream' } });
  });

  test('ends a wait before the runtime does, as waits of a client that is still there', async () => {
    const { runtime, sent } = streamingRuntime();
    const context = { getRemainingTimeInMillis: () => 1_020 };
    await functions(runtime).stream(gatewayEvent('GET', '/api/decision'), sink(), context);
    expect(sent.head).toMatchObject({ statusCode: 503, headers: { 'retry-after': '5' } });
    expect(JSON.parse(sent.text)).toMatchObject({ error: 'still pending' });
  });

  test('is done once the whole response is sent, because the runtime then freezes the process', async () => {
    const { runtime, sent, begun } = streamingRuntime();
    const slow = new PassThrough({ highWaterMark: 1 });
    let isDone = false;
    const { stream } = functions(runtime);
    const ended = (async () => {
      await stream(gatewayEvent('GET', '/api/files/2'), slow);
      isDone = true;
    })();
    await begun;
    await turnOfTheLoop();
    expect(isDone).toBe(false);
    slow.resume();
    await ended;
    expect(sent.text.length).toBe(2 * 1024 * 1024);
  });

  test('sends more than a buffered response may have', async () => {
    const { runtime, sent } = streamingRuntime();
    await functions(runtime).stream(gatewayEvent('GET', '/api/files/7'), sink());
    expect(sent.text.length).toBe(7 * 1024 * 1024);
  });

  test('refuses WebSockets', async () => {
    const { runtime, sent } = streamingRuntime();
    await functions(runtime).stream(gatewayEvent('GET', '/api/pty'), sink());
    expect(sent.head).toMatchObject({ statusCode: 501 });
  });
});
