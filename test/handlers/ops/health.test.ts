import { expect, test } from '@jest/globals';
import { LOCAL } from '#core/callers.ts';
import { withoutIsolation } from '#adapters/local/isolation.ts';
import { makeFunction } from '#handlers/make-function.ts';
import { healthRoute } from '#handlers/ops/ops-routes.ts';
import type { Services } from '#handlers/services.ts';

const ask = async (warnings: readonly string[]) => {
  const services = {
    warnings: () => warnings,
    authenticator: { withoutCredential: LOCAL, authenticate: () => Promise.resolve(undefined) },
  } as unknown as Services;
  const { statusCode, body } = await makeFunction(
    healthRoute,
    services,
  )({
    rawPath: '/health',
    rawQueryString: '',
    headers: {},
    requestContext: { http: { method: 'GET', sourceIp: '192.0.2.1' } },
  });
  return [statusCode, JSON.parse(body as string)];
};

test('returns health without warnings when there is nothing to warn of', async () => {
  expect(await ask([])).toEqual([200, { ok: true }]);
});

test('returns health with a warning when sandboxes are not isolated, and stays live', async () => {
  expect(await ask(withoutIsolation().warnings)).toEqual([
    200,
    { ok: true, warnings: [expect.stringMatching(/^Sandboxes are NOT isolated: /)] },
  ]);
});
