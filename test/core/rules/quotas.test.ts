import { expect, test } from '@jest/globals';
import { quotaOf } from '#core/rules/quotas.ts';

const QUOTAS = {
  default: { sandboxes: 3 },
  users: { alice: { sandboxes: 9 }, bob: {}, service: { sandboxes: 50 } },
};

test.each([
  ['alice', 9],
  ['bob', 3],
  ['carol', 3],
  ['local', 3],
  ['service', 50],
  ['constructor', 3],
])('%s may have %s', (user, sandboxes) => {
  expect(quotaOf(QUOTAS, { user, org: 'acme' })).toEqual({ sandboxes });
});

test('the service key is bound only where it is named', () => {
  expect(quotaOf({ default: { sandboxes: 1 }, users: {} }, { user: 'service', org: 'service' })).toEqual({});
});
