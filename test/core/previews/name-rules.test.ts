import { describe, expect, test } from '@jest/globals';
import { checkGivenName } from '#core/previews/name-rules.ts';
import { isPreviewName, isPreviewToken } from '#core/previews/preview-token.ts';

const check = (name: string) => () => checkGivenName(name);

describe('the name of a preview', () => {
  test.each([
    'shop-demo',
    'pr-1234',
    'abc',
    'a'.repeat(26),
    'pineapple',
    'demo-2',
    'bankrun',
    'foo-previews',
  ])('may be %s', (name) => {
    expect(check(name)).not.toThrow();
    expect([isPreviewToken(name), isPreviewName(name)]).toEqual([false, false]);
  });

  test.each([
    ['', 'DNS label'],
    ['ab', 'DNS label'],
    ['a'.repeat(27), 'DNS label'],
    ['Shop', 'DNS label'],
    ['1shop', 'DNS label'],
    ['-shop', 'DNS label'],
    ['shop-', 'DNS label'],
    ['shop.demo', 'DNS label'],
    ['shop_demo', 'DNS label'],
    ['shöp', 'DNS label'],
    ['shop demo', 'DNS label'],
    ['shop\n', 'DNS label'],
    ['preview-0123456789abcdef0123', 'DNS label'],
    ['xn--80ak6aa92e', 'hyphens'],
    ['shop--demo', 'hyphens'],
    ['acme-login', 'trust'],
    ['l0gin-acme', 'trust'],
    ['sign-in-acme', 'trust'],
    ['mypassword', 'trust'],
    ['paypa1', 'trust'],
    ['micro-soft', 'trust'],
    ['g00gle-docs', 'trust'],
    ['acme-bank', 'trust'],
    ['www', 'trust'],
    ['api', 'trust'],
    ['admin-shop', 'trust'],
    ['porthole', 'trust'],
    ['my-4ccount', 'trust'],
  ])('may not be %j', (name, why) => {
    expect(check(name)).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining(why) }),
    );
  });
});
