import { describe, expect, test } from '@jest/globals';
import { judgeOrigin, rewritesOrigin } from '#adapters/gateway/preview-origin.ts';

const token = `calm-blue-otter-${'a'.repeat(26)}`;
const sibling = `kind-red-heron-${'b'.repeat(26)}`;
const stranger = `wild-grey-lynx-${'c'.repeat(26)}`;
const at = { scheme: 'http', zone: 'localhost', host: `${token}-preview.localhost:8787` } as const;

describe('an Origin', () => {
  test.each([
    ['none', undefined],
    ['own', `http://${token}-preview.localhost:8787`],
    ['sibling', `http://${sibling}-preview.localhost:8787`],
    ['foreign', `http://${stranger}-preview.localhost:8787`],
    ['foreign', `https://${token}-preview.localhost:8787`],
    ['foreign', `http://${token}-preview.localhost`],
    ['foreign', `http://${token}-preview.localhost:3000`],
    ['foreign', `http://${token}-preview.localhost:8787.evil.example`],
    ['foreign', `http://${sibling}-preview.localhost.evil.example:8787`],
    ['foreign', `http://evil.example/?http://${token}-preview.localhost:8787`],
    ['foreign', `http://${sibling}-preview.localhost:3000`],
    ['foreign', 'http://localhost:8787'],
    ['foreign', 'https://evil.example'],
    ['foreign', 'null'],
    ['foreign', ''],
  ] as const)('is %s: %s', (verdict, origin) => {
    expect(judgeOrigin(origin, at, (named) => named === sibling)).toBe(verdict);
  });
});

test.each([
  [true, '/_next/webpack-hmr', false],
  [true, '/anything', true],
  [false, '/', false],
  [false, '/_nextish', false],
  [false, '/%5fnext/x', false],
  [false, '//_next/x', false],
  [false, '/a/../_next/x', false],
])('Origin is rewritten (%s) for %s, upgrade %s', (rewritten, url, isUpgrade) => {
  expect(rewritesOrigin(url, isUpgrade)).toBe(rewritten);
});
