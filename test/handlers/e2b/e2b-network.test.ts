import { expect, test } from '@jest/globals';
import { NewNetwork, toNetworkRequest } from '#handlers/e2b/e2b-network.ts';

test.each([
  ['nothing', {}, undefined, {}],
  ['no internet', {}, false, { network: 'off', allow: [], deny: [], ask: false }],
  ['internet', {}, true, { network: 'open', allow: [], deny: [], ask: false }],
  [
    'everything denied',
    { denyOut: ['0.0.0.0/0'] },
    undefined,
    { network: 'off', allow: [], deny: [], ask: false },
  ],
  [
    'all but one denied',
    { denyOut: ['0.0.0.0/0', 'b.example.com'], allowOut: ['a.example.com'] },
    undefined,
    { network: 'allowlist', allow: ['a.example.com'], deny: ['b.example.com'], ask: false },
  ],
  [
    'one denied',
    { denyOut: ['b.example.com'] },
    undefined,
    { network: 'open', allow: [], deny: ['b.example.com'], ask: false },
  ],
  [
    'one allowed, without internet',
    { allowOut: ['a.example.com'] },
    false,
    { network: 'allowlist', allow: ['a.example.com'], deny: [], ask: false },
  ],
])('reads rules of E2B: %s', (_what, rules, internet, request) => {
  expect(toNetworkRequest(NewNetwork.parse(rules), internet)).toEqual(request);
});

test('refuses exceptions from what is denied, which would be denied here', () => {
  const rules = NewNetwork.parse({ denyOut: ['*.example.com'], allowOut: ['a.example.com'] });
  expect(() => toNetworkRequest(rules, undefined)).toThrow(/^allowOut: exceptions .* not supported/);
});

test.each([{ maskRequestHost: 'a' }, { rules: {} }, { egressProxy: {} }, { allowPublicTraffic: 'yes' }])(
  'refuses what is not supported: %j',
  (rules) => {
    expect(NewNetwork.safeParse(rules).success).toBe(false);
  },
);
