import { afterEach, describe, expect, test } from '@jest/globals';
import { dataPlaneFunction } from '#host/serverless/data-plane-function.ts';
import { gatewayEvent } from './gateway-events.ts';

const exec = { id: 'execCommand', method: 'POST', path: '/v1/sandbox/{id}/exec' } as const;

describe('the function of a route that streams', () => {
  const before = process.env['PORTHOLE_PUBLIC_URL'];
  afterEach(() => {
    if (before === undefined) delete process.env['PORTHOLE_PUBLIC_URL'];
    else process.env['PORTHOLE_PUBLIC_URL'] = before;
  });

  test.each([
    [
      'the address of the function host',
      'https://porthole.example.com',
      'https://porthole.example.com/v1/sandbox/s-1/exec',
    ],
    ['the function host, without a configured address', undefined, 'the function host'],
  ])('answers 501 with %s', async (_what, publicUrl, place) => {
    if (publicUrl === undefined) delete process.env['PORTHOLE_PUBLIC_URL'];
    else process.env['PORTHOLE_PUBLIC_URL'] = publicUrl;
    const result = await dataPlaneFunction(exec)(gatewayEvent('POST', '/prod/v1/sandbox/s-1/exec'));
    expect([result.statusCode, JSON.parse(result.body)]).toEqual([
      501,
      {
        error: `execCommand streams, and no stream passes through this function: send the request to ${place}.`,
        code: 'not_streamable',
        retryable: false,
        remedy: `Send the request to ${place}.`,
        request_id: 'req-1',
      },
    ]);
  });

  test('refuses what is not its own', async () => {
    expect(await dataPlaneFunction(exec)(gatewayEvent('GET', '/v1/sandbox/s-1/exec'))).toMatchObject({
      statusCode: 405,
    });
  });
});
