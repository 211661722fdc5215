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
  test('is text as it is', () => {
    expect(
      toGatewayResult({ statusCode: 200, headers: { 'content-type': 'application/json' }, body: '{}' }, 'r1'),
    ).toEqual({
      statusCode: 200,
      headers: { ...SAFE, 'content-type': 'application/json', 'x-request-id': 'r1' },
      body: '{}',
      isBase64Encoded: false,
    });
  });

  test('is base64 where it is bytes', () => {
    const answer = { statusCode: 200, headers: {}, body: Buffer.from([0, 255]) };
    expect(toGatewayResult(answer, undefined)).toEqual({
      statusCode: 200,
      headers: SAFE,
      body: 'AP8=',
      isBase64Encoded: true,
    });
  });

  test('is empty where there is no body', () => {
    expect(toGatewayResult({ statusCode: 204, headers: {} }, undefined).body).toBe('');
  });

  test('is no stream, which is closed', () => {
    const stream = new Readable({ read: () => undefined });
    const stuck = () => toGatewayResult({ statusCode: 200, headers: {}, body: stream }, undefined);
    expect(stuck).toThrow(expect.objectContaining({ code: 'not_streamable', status: 501 }));
    expect(stream.destroyed).toBe(true);
  });

  test.each([
    ['text', 'a'.repeat(6 * 1024 * 1024)],
    ['text that JSON makes longer', '"'.repeat(3.5 * 1024 * 1024)],
    ['bytes that base64 makes longer', Buffer.alloc(5 * 1024 * 1024)],
  ])('is refused where it is too large: %s', (_what, body) => {
    const refused = () => toGatewayResult({ statusCode: 200, headers: {}, body }, undefined);
    expect(refused).toThrow(expect.objectContaining({ code: 'payload_too_large', status: 413 }));
  });

  test('is handed over where it only just fits', () => {
    const body = 'a'.repeat(6 * 1024 * 1024 - 8192);
    expect(toGatewayResult({ statusCode: 200, headers: {}, body }, undefined).body).toBe(body);
  });
});
