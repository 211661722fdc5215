import { describe, expect, test } from '@jest/globals';
import { type GatewayEvent, readGatewayEvent, routeReader } from '#host/serverless/gateway-event.ts';
import type { Method } from '#handlers/route.ts';
import { gatewayEvent } from './gateway-events.ts';

const KEEPALIVE = '/api/runs/{id}/sandbox/port-forward/{token}/keepalive';

function read(method: Method, path: string, event: GatewayEvent) {
  return routeReader({ method, path })(readGatewayEvent(event).event);
}

describe('an API Gateway event', () => {
  test('becomes the event of a function', () => {
    const event: GatewayEvent = {
      ...gatewayEvent('POST', '/api/runs', { body: '{"sandbox_id":"s"}' }),
      rawQueryString: 'a=1&a=2',
      headers: { 'Content-Type': 'application/json', accept: 'text/html, application/json' },
      cookies: ['theme=dark', 'lang=en'],
    };
    expect(read('POST', '/api/runs', event)).toEqual({
      rawPath: '/api/runs',
      rawQueryString: 'a=1&a=2',
      headers: {
        'content-type': 'application/json',
        accept: 'text/html, application/json',
        cookie: 'theme=dark; lang=en',
      },
      pathParameters: {},
      requestContext: { requestId: 'req-1', http: { method: 'POST', sourceIp: '203.0.113.7' } },
      body: '{"sandbox_id":"s"}',
      isBase64Encoded: false,
    });
  });

  test.each([
    ['no prefix', '/api/runs/r-1'],
    ['a stage', '/prod/api/runs/r-1'],
    ["a domain's mapping", '/porthole/v2/api/runs/r-1'],
  ])('has its path without %s', (_what, rawPath) => {
    expect(read('GET', '/api/runs/{id}', gatewayEvent('GET', rawPath))).toMatchObject({
      rawPath: '/api/runs/r-1',
      pathParameters: { id: 'r-1' },
    });
  });

  test.each(['/', '/prod/', '/prod', ''])('leads home by the path %j', (rawPath) => {
    expect(read('GET', '/', gatewayEvent('GET', rawPath)).pathParameters).toEqual({});
  });

  test('has every parameter of its path, decoded once', () => {
    const event = gatewayEvent('POST', '/api/runs/r%2520/sandbox/port-forward/a-b/keepalive');
    expect(read('POST', KEEPALIVE, event).pathParameters).toEqual({ id: 'r%20', token: 'a-b' });
  });

  test('takes the rest of its path as one parameter where the route does', () => {
    const event = gatewayEvent('GET', '/v1/sandbox/s-1/file/workspace/a/b.txt');
    expect(read('GET', '/v1/sandbox/{id}/file/{path}', event).pathParameters).toEqual({
      id: 's-1',
      path: 'workspace/a/b.txt',
    });
  });

  test('may ask by HEAD for what there is a GET of', () => {
    expect(read('GET', '/health', gatewayEvent('HEAD', '/health')).requestContext.http.method).toBe('HEAD');
  });

  test.each([
    ['another path', 'GET', '/api/runs', 'not_found', 404],
    ['another path that begins with it', 'GET', '/health/more', 'not_found', 404],
    ['another path that ends like it', 'GET', '/unhealth', 'not_found', 404],
    ['another method', 'POST', '/health', 'method_not_allowed', 405],
  ] as const)('is refused with %s', (_what, method, path, code, status) => {
    const refused = () => read('GET', '/health', gatewayEvent(method, path));
    expect(refused).toThrow(expect.objectContaining({ code, status }));
  });

  test('is refused when a parameter is not percent-encoded UTF-8', () => {
    const refused = () => read('GET', '/api/runs/{id}', gatewayEvent('GET', '/api/runs/%E0%A4%A'));
    expect(refused).toThrow(expect.objectContaining({ code: 'invalid_request', status: 400 }));
  });

  test('takes a dot of the template for nothing but a dot', () => {
    const refused = () => read('GET', '/v1/openapi.json', gatewayEvent('GET', '/v1/openapixjson'));
    expect(refused).toThrow(expect.objectContaining({ code: 'not_found' }));
  });
});

describe('an event of another trigger', () => {
  const REST: GatewayEvent = {
    httpMethod: 'GET',
    path: '/porthole/api/runs/r-1',
    headers: { Accept: 'text/html', Cookie: 'b=2' },
    multiValueHeaders: { Accept: ['text/html', 'application/json'], Cookie: ['a=1', 'b=2'] },
    queryStringParameters: { tag: 'b', name: 'a b' },
    multiValueQueryStringParameters: { tag: ['a&', 'b'], name: ['a b'] },
    requestContext: { requestId: 'req-2', stage: 'prod', identity: { sourceIp: '203.0.113.8' } },
    body: null,
    isBase64Encoded: false,
  };

  test('has all values of a header and of the query of a REST API', () => {
    expect(read('GET', '/api/runs/{id}', REST)).toEqual({
      rawPath: '/api/runs/r-1',
      rawQueryString: 'tag=a%26&tag=b&name=a+b',
      headers: { accept: 'text/html, application/json', cookie: 'a=1; b=2' },
      pathParameters: { id: 'r-1' },
      requestContext: { requestId: 'req-2', http: { method: 'GET', sourceIp: '203.0.113.8' } },
      body: null,
      isBase64Encoded: false,
    });
    expect(readGatewayEvent(REST)).toMatchObject({ stage: 'prod', format: { headers: 'several values' } });
  });

  test('has single values where the gateway sends no lists', () => {
    const { multiValueHeaders: _h, multiValueQueryStringParameters: _q, ...single } = REST;
    const { event, format } = readGatewayEvent(single);
    expect(event).toMatchObject({ rawQueryString: 'tag=b&name=a+b', headers: { accept: 'text/html' } });
    expect(format.headers).toBe('one value');
  });

  test('keeps the query of a load balancer encoded, and trusts only the address that it added', () => {
    const { event, format } = readGatewayEvent({
      httpMethod: 'GET',
      path: '/api/runs',
      headers: { 'x-forwarded-for': '10.9.9.9, 203.0.113.9', 'x-amzn-trace-id': 'Root=1-2' },
      queryStringParameters: { name: 'a%20b', empty: '' },
      requestContext: { elb: { targetGroupArn: 'arn' } },
    });
    expect(event).toMatchObject({
      rawQueryString: 'name=a%20b&empty=',
      requestContext: { requestId: 'Root=1-2', http: { method: 'GET', sourceIp: '203.0.113.9' } },
    });
    expect(format).toMatchObject({ headers: 'one value', bytes: 1024 * 1024 });
  });

  test('is refused where it is no request, with its fields', () => {
    const scheduled = { 'detail-type': 'Scheduled Event' } as unknown as GatewayEvent;
    expect(() => readGatewayEvent(scheduled)).toThrow(
      'An event with the fields detail-type is no HTTP request',
    );
  });
});
