import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { makeRun } from './support/runs.ts';

const SAFE = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

describe('no answer can be made a page, a script or a frame of this origin', () => {
  let porthole: TestHost;
  let sandboxId: string;
  beforeAll(async () => {
    porthole = await startTestHost();
    ({ sandboxId } = await makeRun(porthole));
    await porthole.call('PUT', `/v1/sandbox/${sandboxId}/file/workspace/evil.html`, {
      body: '<script>alert(1)</script>',
    });
  });
  afterAll(() => porthole.end());

  test.each([
    ['GET', '/api/runs', 200],
    ['GET', '/api/session', 200],
    ['GET', '/health', 200],
    ['GET', '/v1/openapi.json', 200],
    ['GET', '/api/runs/<script>', 400],
    ['GET', '/no/such/<script>', 404],
    ['GET', '/v1/sandbox/x/<script>', 404],
    ['POST', '/runs/1', 405],
    ['DELETE', '/api/session', 204],
    ['GET', '/assets/no.js', 404],
  ])('%s %s, which is %i', async (method, path, status) => {
    const answer = await porthole.call(method, path);
    expect([answer.status, answer.headers]).toEqual([status, expect.objectContaining(SAFE)]);
  });

  test('serves a file of a sandbox to be saved, never shown', async () => {
    const answer = await porthole.call('GET', `/v1/sandbox/${sandboxId}/file/workspace/evil.html`);
    expect([answer.status, answer.headers]).toEqual([
      200,
      expect.objectContaining({
        ...SAFE,
        'content-type': 'application/octet-stream',
        'content-disposition': 'attachment; filename="evil.html"; filename*=UTF-8\'\'evil.html',
      }),
    ]);
  });

  test('refuses a host that is not served, without a page', async () => {
    const answer = await porthole.call('GET', '/<script>', { host: 'evil.test' });
    expect([answer.status, answer.headers]).toEqual([
      403,
      expect.objectContaining({ 'content-type': 'application/json', 'x-content-type-options': 'nosniff' }),
    ]);
  });
});
