import { expect, test } from '@jest/globals';
import {
  audienceOf,
  levelOptions,
  linkEnd,
  linkLevelOptions,
  usesLabel,
  viewerLink,
} from '../../console/src/previews/access-labels.ts';

const NOW = Date.parse('2026-11-29T12:00:00Z');

test('says who can see the app', () => {
  expect(audienceOf('link')).toBe('Anyone with the link can see the app');
  expect(audienceOf('')).toBe(audienceOf('link'));
  expect(audienceOf('owner')).toBe('Only the owner and administrators can see the app');
});

test('refuses the levels above the maximum, with the reason', () => {
  const refused = levelOptions('org').filter(({ refusal }) => refusal !== undefined);
  expect(refused.map(({ id }) => id)).toEqual(['signed_in', 'password', 'link']);
  expect(refused[0]?.refusal).toBe('Above the maximum of this installation, “Organisation”.');
  expect(levelOptions('link').filter(({ refusal }) => refusal !== undefined)).toEqual([]);
});

test.each([
  ['link', ['link', 'signed_in', 'org']],
  ['password', ['signed_in', 'org']],
  ['org', ['org']],
  ['owner', []],
] as const)('offers links up to the maximum %s', (maximum, levels) => {
  expect(linkLevelOptions(maximum).map(({ id }) => id)).toEqual(levels);
});

test.each([
  [{ uses: 1, max_uses: null }, '1 visitor'],
  [{ uses: 0, max_uses: null }, '0 visitors'],
  [{ uses: 2, max_uses: 5 }, '3 of 5 visits left'],
  [{ uses: 1, max_uses: 1 }, '0 of 1 visit left'],
])('counts the visits of %j', (link, words) => {
  expect(usesLabel(link)).toBe(words);
});

test.each([
  [{ uses: 1, max_uses: 2, expires_at: '2026-11-29T12:00:01Z' }, undefined],
  [{ uses: 2, max_uses: 2, expires_at: null }, 'used up'],
  [{ uses: 2, max_uses: 2, expires_at: '2026-11-29T12:00:00Z' }, 'expired'],
])('says why %j lets in no new visitor', (link, end) => {
  expect(linkEnd(link, NOW)).toBe(end);
});

test('names the link by which a viewer came, if it is not revoked', () => {
  const links = [{ id: 'a', label: 'for carol' }];
  expect(viewerLink({ link_id: 'a' }, links)).toBe('for carol');
  expect(viewerLink({ link_id: 'b' }, links)).toBe('a revoked link');
  expect(viewerLink({ link_id: null }, links)).toBeUndefined();
});
