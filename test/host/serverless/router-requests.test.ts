import { describe, expect, test } from '@jest/globals';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { PortholeError } from '#base/errors.ts';
import type { HttpEvent, HttpResponse } from '#handlers/http/http-event.ts';
import { defineRoute, json, type Route } from '#handlers/route.ts';
import type { GatewayResult } from '#host/serverless/gateway-event.ts';
import { lazyRoute } from '#host/server/router.ts';
import { limitedFunction, type OpenFunction } from '#host/serverless/open-function.ts';
import { openNothing } from '#host/serverless/open-nothing.ts';
import { routerFunction } from '#host/serverless/router-function.ts';
import { gatewayEvent } from './gateway-events.ts';

const JSON_BODY = { 'content-type': 'application/json' };

const echoRoute = defineRoute('echo', 'POST', '/echo/{name}', {
  tag: 'Test',
  summary: 'Says what it heard',
  access: 'anyone',
  params: z.object({ name: z.string() }),
  query: z.object({ loud: z.string().optional() }),
  body: z.object({ text: z.string() }),
  responses: { 200: { description: 'It' } },
  handle: ({ params, query, body }) => Promise.resolve(json(200, { ...params, ...query, ...body })),
});

function answering(answer: () => HttpResponse): Route {
  return { ...echoRoute, handle: () => Promise.resolve(answer()) };
}

const bodyOf = ({ body }: GatewayResult): unknown => JSON.parse(body);
/** The function of one route, which opens its services only where `open` is given. */
const functionOf = (route: Route, open?: () => Promise<OpenFunction>) =>
  routerFunction([{ ...lazyRoute(route), opens: open !== undefined }], open).handler;
const call = (route: Route, body = '{"text":"hello"}', base64 = false) =>
  functionOf(route)(gatewayEvent('POST', '/echo/ann', { headers: JSON_BODY, body, base64 }));

describe('a request to a runtime that buffers', () => {
  test('reaches its route with path, query and body', async () => {
    const event = gatewayEvent('POST', '/echo/ann', { headers: JSON_BODY, body: '{"text":"hello"}' });
    const result = await functionOf(echoRoute)({ ...event, rawQueryString: 'loud=yes' });
    expect(result.statusCode).toBe(200);
    expect(bodyOf(result)).toEqual({ name: 'ann', loud: 'yes', text: 'hello' });
    expect(result.headers?.['x-request-id']).toBe('req-1');
  });

  test('may have a body in base64', async () => {
    const body = Buffer.from('{"text":"grüß Gott"}').toString('base64');
    expect(bodyOf(await call(echoRoute, body, true))).toEqual({ name: 'ann', text: 'grüß Gott' });
  });

  test('refuses a body in base64 that is not UTF-8', async () => {
    const body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]).toString('base64');
    expect(await call(echoRoute, body, true)).toMatchObject({
      statusCode: 400,
      body: expect.stringContaining('not valid UTF-8'),
    });
  });

  test('refuses a body that its schema does not know', async () => {
    const result = await call(echoRoute, '{"text":1}');
    expect(result.statusCode).toBe(400);
    expect(bodyOf(result)).toMatchObject({ code: 'invalid_request' });
  });

  test('answers bytes in base64', async () => {
    const bytes = { statusCode: 200, headers: {}, body: Buffer.from('x') };
    expect(await call(answering(() => bytes))).toMatchObject({ body: 'eA==', isBase64Encoded: true });
  });

  test('returns a stream as a whole', async () => {
    const stream = () => ({ statusCode: 200, headers: {}, body: Readable.from(['x']) });
    expect(await call(answering(stream))).toMatchObject({ statusCode: 200, body: 'eA==' });
  });

  test('answers HEAD without a body', async () => {
    const { body: _, ...rest } = answering(() => json(200, { much: 'text' }));
    const result = await functionOf({ ...rest, method: 'GET' })(gatewayEvent('HEAD', '/echo/ann'));
    expect([result.statusCode, result.body]).toEqual([200, '']);
  });

  test('refuses a page of another site', async () => {
    const event = gatewayEvent('POST', '/echo/ann', { headers: { origin: 'https://evil.example' } });
    expect(await functionOf(echoRoute)(event)).toMatchObject({ statusCode: 403 });
  });

  test('opens the services once, at the first request, whatever comes at the same time', async () => {
    let opened = 0;
    const invoke = functionOf(echoRoute, () => {
      opened += 1;
      return openNothing();
    });
    expect(opened).toBe(0);
    const event = gatewayEvent('POST', '/echo/ann', { headers: JSON_BODY, body: '{"text":"a"}' });
    const results = await Promise.all([invoke(event), invoke(event), invoke(event)]);
    expect(results.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
    expect(opened).toBe(1);
  });

  test('answers a blank 500 where it cannot open, and opens at the next request', async () => {
    let opened = 0;
    const invoke = functionOf(echoRoute, () => {
      opened += 1;
      return opened === 1 ? Promise.reject(new Error('no database at 10.1.2.3')) : openNothing();
    });
    const event = gatewayEvent('POST', '/echo/ann', { headers: JSON_BODY, body: '{"text":"a"}' });
    const first = await invoke(event);
    expect([first.statusCode, bodyOf(first)]).toEqual([
      500,
      {
        error: 'Something went wrong on our side. The log has the details under this request_id.',
        code: 'internal_error',
        retryable: true,
        remedy: 'Try again. If it persists, give the request_id to your administrator.',
        request_id: 'req-1',
      },
    ]);
    expect(await invoke(event)).toMatchObject({ statusCode: 200 });
  });

  test('fails where a route for anyone wants what is not opened for it', async () => {
    const curious: Route = {
      ...echoRoute,
      handle: async (_request, services) => json(200, await services.records.runs.get('r')),
    };
    expect(await call(curious)).toMatchObject({ statusCode: 500 });
  });

  test('knows no caller before anything is opened', async () => {
    const event = gatewayEvent('POST', '/echo/ann', { headers: { authorization: 'Bearer some-key' } });
    const closed: Route = { ...echoRoute, access: 'caller' };
    expect(await functionOf(closed)(event)).toMatchObject({ statusCode: 401 });
  });

  test('ends the waits of a request before its gateway ends the request, and no later one', async () => {
    const { services, options } = await openNothing();
    const never = new AbortController().signal;
    const found = { services: { ...services, stopping: never }, options };
    const ended: boolean[] = [];
    const waiting: Route = {
      ...echoRoute,
      class: 'stream',
      handle: async (_request, { stopping }) => {
        ended.push(stopping.aborted);
        await new Promise((resolve) => stopping.addEventListener('abort', resolve));
        throw new PortholeError('service_unavailable', 'No decision yet: send the same request again.');
      },
    };
    const invoke = limitedFunction(waiting, found);
    const event = {
      ...gatewayEvent('POST', '/echo/ann', { headers: JSON_BODY, body: '{"text":"a"}' }),
      rawQueryString: '',
      headers: { ...JSON_BODY, host: 'api.example.com' },
      pathParameters: { name: 'ann' },
      ending: () => AbortSignal.timeout(20),
    };
    for (const _ of [1, 2]) {
      expect(await invoke(event as HttpEvent)).toMatchObject({
        statusCode: 503,
        headers: { 'retry-after': '5' },
      });
    }
    expect(ended).toEqual([false, false]);
    expect(never.aborted).toBe(false);
  });
});
