import { Readable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { toGatewayResult } from '#host/serverless/gateway-event.ts';

/** Security headers of every response. */
const SAFE = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

describe('an answer, as API Gateway takes it', () => {
  test('is text without an encoding', async () => {
    expect(
      await toGatewayResult(
        { statusCode: 200, headers: { 'content-type': 'application/json' }, body: '{}' },
        'r1',
      ),
    ).toEqual({
      statusCode: 200,
      headers: { ...SAFE, 'content-type': 'application/json', 'x-request-id': 'r1' },
      body: '{}',
      isBase64Encoded: false,
    });
  });

  test('is base64 where it is bytes', async () => {
    const answer = { statusCode: 200, headers: {}, body: Buffer.from([0, 255]) };
    expect(await toGatewayResult(answer, undefined)).toEqual({
      statusCode: 200,
      headers: SAFE,
      body: 'AP8=',
      isBase64Encoded: true,
    });
  });

  test('is empty where there is no body', async () => {
    expect((await toGatewayResult({ statusCode: 204, headers: {} }, undefined)).body).toBe('');
  });

  test('has the bytes of a stream', async () => {
    const answer = {
      statusCode: 200,
      headers: {},
      body: Readable.from([Buffer.from([0]), Buffer.from([255])]),
    };
    expect(await toGatewayResult(answer, undefined)).toMatchObject({ body: 'AP8=', isBase64Encoded: true });
  });

  const answer = { statusCode: 200, headers: { 'set-cookie': 'a=1; Path=/' }, body: '' };
  const format = { bytes: 100_000, limit: '100 kB' };

  test('has its cookie apart for an HTTP API', async () => {
    const { headers, cookies } = await toGatewayResult(answer, undefined);
    expect([headers, cookies]).toEqual([SAFE, ['a=1; Path=/']]);
  });

  test('has lists of values where the event has them', async () => {
    const { headers, multiValueHeaders } = await toGatewayResult(answer, 'r1', {
      headers: 'several values',
      ...format,
    });
    expect(headers).toBeUndefined();
    expect(multiValueHeaders).toMatchObject({ 'set-cookie': ['a=1; Path=/'], 'x-request-id': ['r1'] });
  });

  test('has its cookie among the headers elsewhere', async () => {
    const { headers } = await toGatewayResult(answer, undefined, { headers: 'one value', ...format });
    expect(headers).toEqual({ ...SAFE, 'set-cookie': 'a=1; Path=/' });
  });

  test('destroys a stream that is too large, and names the limit', async () => {
    const stream = new Readable({
      read() {
        this.push(Buffer.alloc(1024 * 1024));
      },
    });
    await expect(
      toGatewayResult({ statusCode: 200, headers: {}, body: stream }, undefined),
    ).rejects.toMatchObject({
      code: 'payload_too_large',
      message: expect.stringContaining('the limit of 6 MB'),
    });
    expect(stream.destroyed).toBe(true);
  });

  test.each([
    ['text', 'a'.repeat(6 * 1024 * 1024)],
    ['text that JSON makes longer', '"'.repeat(3.5 * 1024 * 1024)],
    ['bytes that base64 makes longer', Buffer.alloc(5 * 1024 * 1024)],
  ])('is refused where it is too large: %s', async (_what, body) => {
    await expect(toGatewayResult({ statusCode: 200, headers: {}, body }, undefined)).rejects.toMatchObject({
      code: 'payload_too_large',
      status: 413,
    });
  });

  test('is returned where it is just below the limit', async () => {
    const body = 'a'.repeat(6 * 1024 * 1024 - 8192);
    expect((await toGatewayResult({ statusCode: 200, headers: {}, body }, undefined)).body).toBe(body);
  });
});
