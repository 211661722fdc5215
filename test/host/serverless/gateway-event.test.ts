import { describe, expect, test } from '@jest/globals';
import { type GatewayEvent, readGatewayEvent } from '#host/serverless/gateway-event.ts';
import { gatewayEvent } from './gateway-events.ts';

describe('an API Gateway event', () => {
  test('becomes the event of a function', () => {
    const event: GatewayEvent = {
      ...gatewayEvent('POST', '/api/runs', { body: '{"sandbox_id":"s"}' }),
      rawQueryString: 'a=1&a=2',
      headers: { 'Content-Type': 'application/json', accept: 'text/html, application/json' },
      cookies: ['theme=dark', 'lang=en'],
    };
    expect(readGatewayEvent(event).event).toEqual({
      rawPath: '/api/runs',
      rawQueryString: 'a=1&a=2',
      headers: {
        'content-type': 'application/json',
        accept: 'text/html, application/json',
        cookie: 'theme=dark; lang=en',
      },
      requestContext: { requestId: 'req-1', http: { method: 'POST', sourceIp: '203.0.113.7' } },
      body: '{"sandbox_id":"s"}',
      isBase64Encoded: false,
    });
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
    expect(readGatewayEvent(REST).event).toEqual({
      rawPath: '/porthole/api/runs/r-1',
      rawQueryString: 'tag=a%26&tag=b&name=a+b',
      headers: { accept: 'text/html, application/json', cookie: 'a=1; b=2' },
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
