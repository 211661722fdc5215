import { expect, test } from '@jest/globals';
import { changeToAllow, changeToRemove, ruleLabel } from '../../console/src/network/network-changes.ts';

const LISTS = { network: 'packages', allow: ['a.example.com'], deny: [] } as const;
const lists = (given: object) => ({ ...LISTS, allow: [...LISTS.allow], deny: [], ...given });
const blocked = { host: 'api.example.com', port: 443, decision: 'blocked', rule: 'not on the list' } as const;

test('adds a blocked host to the list, and names a port that is not of the web', () => {
  expect(changeToAllow(lists({}), blocked)).toEqual({ allow: ['a.example.com', 'api.example.com'] });
  expect(changeToAllow(lists({}), { ...blocked, port: 5432 })).toEqual({
    allow: ['a.example.com', 'api.example.com:5432'],
  });
});

test('takes a denied host off the other list', () => {
  const denied = lists({ deny: ['api.example.com:443', 'b.example.com'] });
  expect(changeToAllow(denied, { ...blocked, rule: 'deny api.example.com:443' })).toEqual({
    allow: ['a.example.com', 'api.example.com'],
    deny: ['b.example.com'],
  });
});

test('switches to the allow list in a sandbox without a network', () => {
  const off = lists({ network: 'off', allow: ['api.example.com'] });
  expect(changeToAllow(off, { ...blocked, rule: 'network: off' })).toEqual({ network: 'allowlist' });
});

test.each([
  'deny *.example.com',
  'api.example.com is a private address',
  'TLS for other.example.net',
  'Host other.example.net',
  'address without a name',
  'secret TOKEN needs https',
])('offers no change that would not help: %s', (rule) => {
  expect(changeToAllow(lists({}), { ...blocked, rule })).toBeUndefined();
});

test('offers no change for a host that is allowed by now, or was allowed', () => {
  expect(changeToAllow(lists({ allow: ['api.example.com'] }), blocked)).toBeUndefined();
  expect(changeToAllow(lists({}), { ...blocked, decision: 'allowed' })).toBeUndefined();
});

test('removes one entry, also one with methods and paths', () => {
  const rule = { host: 'c.example.com', ports: [8080], methods: ['GET'], paths: ['/v1'] };
  expect(ruleLabel(rule)).toBe('GET c.example.com:8080 /v1');
  expect(changeToRemove(lists({ allow: ['a.example.com', rule] }), 'allow', ruleLabel(rule))).toEqual({
    allow: ['a.example.com'],
  });
});
