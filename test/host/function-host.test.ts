import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EventEmitter, once } from 'node:events';
import { type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { randomIds, systemClock } from '#adapters/system/clock-and-random-ids.ts';
import type { HttpResponse } from '#handlers/http/http-event.ts';
import { defineRoute, type Route } from '#handlers/route.ts';
import type { Services } from '#handlers/services.ts';
import { createFunctionHost } from '#host/server/function-host.ts';
import { HandshakeResponse } from '#host/server/handshake.ts';
import { lazyRoute } from '#host/server/router.ts';
import { createLogger } from '#host/telemetry/logger.ts';
import { createMetrics } from '#host/telemetry/metrics.ts';
import { createStrictServer } from '#proxy/front/strict-server.ts';
import { firstAnswer, rawExchange } from './support/raw-exchange.ts';

const route = (id: string, socket: boolean, handle: () => HttpResponse | Promise<HttpResponse>) =>
  defineRoute(id, 'GET', `/${id}`, {
    tag: 'Test',
    summary: id,
    access: 'anyone',
    socket,
    responses: {},
    handle: async () => await handle(),
  });

const WHY = 'the disk is gone, and so is Bearer abcdefghijklmnop';
const WHY_LOGGED = 'the disk is gone, and so is Bearer [redacted]';
let load: () => Promise<Route>;
const ok = (body: HttpResponse['body'], headers = {}): HttpResponse => ({ statusCode: 200, headers, body });

let server: Server;
let port: number;
interface LogLine extends Record<string, unknown> {
  readonly msg: string;
}
let logged: LogLine[] = [];
const lines = new EventEmitter();
let source = new PassThrough();
const freshSource = (): PassThrough => (source = new PassThrough());

const ROUTES = {
  badHeader: () => ok(freshSource(), { 'x-name': 'a\r\nb' }),
  noText: () => ok(5 as unknown as string),
  failed: () => {
    freshSource().on('error', () => undefined);
    source.destroy(new Error(WHY));
    return ok(source);
  },
  open: () => {
    freshSource().write('data: 1\n\n');
    return ok(source, { 'content-type': 'text/event-stream' });
  },
  short: () => {
    freshSource().write('some of it, ');
    // In the same turn of the event loop, as the output and the exit of a short command.
    process.nextTick(() => source.end('and its end'));
    return ok(source);
  },
  silent: () => ok(freshSource()),
  sour: () => ok(new Readable({ destroy: (_error, done) => done(new Error(WHY)) })),
  good: () => ok('good'),
};

beforeAll(async () => {
  const log = await createLogger({
    level: 'debug',
    secrets: [],
    destination: {
      write(text) {
        const line = JSON.parse(text) as LogLine;
        logged.push(line);
        lines.emit(line.msg, line);
      },
    },
  });
  const services = { ids: randomIds, clock: systemClock, log } as unknown as Services;
  const api = createFunctionHost({
    routes: [
      ...Object.entries(ROUTES).map(([id, handle]) => lazyRoute(route(id, id === 'badHeader', handle))),
      { id: 'lazy', method: 'GET', path: '/lazy', opens: false, isEndless: false, load: () => load() },
    ],
    services,
    metrics: createMetrics(),
  });
  server = createStrictServer({
    request: api,
    upgrade: (req, peer, head) => api(req, new HandshakeResponse(req, peer, head)),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => void server.close());

const get = (path: string, method = 'GET') => `${method} /${path} HTTP/1.1\r\nHost: here\r\n\r\n`;
const LAST = 'GET /good HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n';
const cutOff = async (): Promise<unknown> => (await once(lines, 'answer cut off'))[0];
const whys = () => logged.filter(({ msg }) => msg !== 'request');

describe('an answer that cannot be sent', () => {
  test.each([
    ['has a header that HTTP does not allow', 'badHeader'],
    ['has a body of no text', 'noText'],
    ['has a stream that failed before', 'failed'],
  ])('is a 500 where it %s, and the connection goes on', async (_what, path) => {
    logged = [];
    const text = await rawExchange(port, get(path) + LAST);
    expect(text).toMatch(/^HTTP\/1\.1 500 Internal Server Error\r\n/);
    const { body, answers } = firstAnswer(text);
    expect(body).toMatchObject({
      error: 'Something went wrong on our side. The log has the details under this request_id.',
      code: 'internal_error',
      retryable: true,
      request_id: expect.any(String),
    });
    expect([answers, text.endsWith('\r\n\r\ngood')]).toEqual([2, true]);
    expect(whys()).toEqual([expect.objectContaining({ level: 'error', request_id: body['request_id'] })]);
    expect(logged.filter(({ msg }) => msg === 'request')).toContainEqual(
      expect.objectContaining({ operation: path, status: 500 }),
    );
  });

  test('is a 500 to a HEAD and to a handshake, too, and its stream is closed', async () => {
    const head = await rawExchange(port, get('badHeader', 'HEAD') + LAST);
    expect([firstAnswer(head), source.destroyed]).toMatchObject([{ status: 500, answers: 2 }, true]);
    const handshake = 'Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
    const text = await rawExchange(port, get('badHeader').replace(/\r\n$/, handshake));
    expect([firstAnswer(text), source.destroyed]).toMatchObject([{ status: 500, answers: 1 }, true]);
  });

  test('is cut off where its stream fails after the head, and one line says why', async () => {
    logged = [];
    const response = await open();
    const [cut, failed] = [cutOff(), once(response, 'error')];
    source.destroy(new Error(WHY));
    expect(await failed).toEqual([expect.objectContaining({ code: 'ECONNRESET' })]);
    expect(await cut).toMatchObject({ level: 'warn', operation: 'open', err: { message: WHY_LOGGED } });
    expect(whys()).toHaveLength(1);
  });

  test('closes its stream when the client leaves, which no warning is about', async () => {
    const response = await open();
    const cut = cutOff();
    const closed = new Promise((resolve) => source.once('close', resolve));
    response.destroy();
    await closed;
    expect(await cut).toMatchObject({ level: 'debug', operation: 'open' });
  });

  test('ends a HEAD, though closing its stream fails', async () => {
    const text = await rawExchange(port, get('sour', 'HEAD') + LAST);
    expect(firstAnswer(text)).toMatchObject({ status: 200, answers: 2 });
  });
});

test('sends head, bytes and end of a short stream at once', async () => {
  const socket = connect(port, '127.0.0.1');
  socket.write(get('short'));
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  expect(first.toString()).toMatch(
    /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nc\r\nsome of it, \r\nb\r\nand its end\r\n0\r\n\r\n$/,
  );
});

test('sends the head of a silent stream before its first bytes', async () => {
  const asked = request({ host: '127.0.0.1', port, path: '/silent', agent: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  source.end('late');
  expect([response.statusCode, await text(response)]).toEqual([200, 'late']);
});

test('loads the module of a route again after a failure, and once for all requests meanwhile', async () => {
  const loads: PromiseWithResolvers<Route>[] = [];
  load = () => {
    const loading = Promise.withResolvers<Route>();
    loads.push(loading);
    asked.emit('load');
    return loading.promise;
  };
  const asked = new EventEmitter();
  const statuses = async (): Promise<number[]> => {
    const loading = once(asked, 'load');
    const answers = [1, 2].map(() => rawExchange(port, get('lazy') + LAST));
    await loading;
    // The second request is in, too.
    await rawExchange(port, LAST);
    if (loads.length === 1) loads[0]?.reject(new Error('too many open files'));
    else loads[1]?.resolve(route('lazy', false, () => ok('here')));
    return (await Promise.all(answers)).map((text) => firstAnswer(text).status);
  };
  expect(await statuses()).toEqual([500, 500]);
  expect(await statuses()).toEqual([200, 200]);
  expect(loads).toHaveLength(2);
});

async function open(): Promise<IncomingMessage> {
  const asked = request({ host: '127.0.0.1', port, path: '/open', agent: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  await once(response, 'data');
  return response;
}
