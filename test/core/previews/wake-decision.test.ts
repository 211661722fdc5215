import { expect, test } from '@jest/globals';
import { decideWake, type Opening } from '#core/previews/wake-decision.ts';

const PLAIN = { method: 'POST', headers: {} } as const;
/** What opens a page without a person, or before one does. */
const UNSEEN: Readonly<Record<string, Pick<Opening, 'method' | 'headers'>>> = {
  'a GET, as of a link preview or a robot': { method: 'GET', headers: {} },
  'a HEAD': { method: 'HEAD', headers: {} },
  'a prefetch': { method: 'POST', headers: { 'sec-purpose': 'prefetch' } },
  'a prerendering': { method: 'POST', headers: { 'sec-purpose': 'prefetch;prerender' } },
  'an older prefetch': { method: 'POST', headers: { purpose: 'prefetch' } },
  'an older preview': { method: 'POST', headers: { 'x-purpose': 'preview' } },
};
const WAYS = {
  'the level': 'level',
  'the URL or the password': 'secret',
  'a link': { mayWake: false },
  'a link that may wake': { mayWake: true },
} as const;

/** By visitor and way in: what opening, and pressing the button, lead to. */
const TABLE = [
  ['owner', 'the level', 'wake', 'wake'],
  ['owner', 'the URL or the password', 'wake', 'wake'],
  ['owner', 'a link', 'wake', 'wake'],
  ['owner', 'a link that may wake', 'wake', 'wake'],
  ['person', 'the level', 'wake', 'wake'],
  ['person', 'the URL or the password', 'refuse', 'refuse'],
  ['person', 'a link', 'refuse', 'refuse'],
  ['person', 'a link that may wake', 'wake', 'wake'],
  ['anonymous', 'the level', 'refuse', 'refuse'],
  ['anonymous', 'the URL or the password', 'refuse', 'refuse'],
  ['anonymous', 'a link', 'refuse', 'refuse'],
  ['anonymous', 'a link that may wake', 'ask', 'wake'],
] as const;

test.each(TABLE)('decides for %s by %s: opening %s, pressing %s', (visitor, way, opened, pressed) => {
  const opening = { isAwake: false, visitor, invitedBy: WAYS[way] };
  expect(decideWake({ ...opening, ...PLAIN, asked: 'opened' })).toBe(opened);
  expect(decideWake({ ...opening, ...PLAIN, asked: 'pressed' })).toBe(pressed);
  for (const request of Object.values(UNSEEN)) {
    for (const asked of ['opened', 'pressed'] as const) {
      expect(decideWake({ ...opening, ...request, asked })).toBe(pressed === 'wake' ? 'ask' : 'refuse');
    }
  }
});

test('starts nothing that is awake, and nothing unless the page asks', () => {
  for (const [visitor, way] of TABLE) {
    const opening = { visitor, invitedBy: WAYS[way], ...PLAIN };
    for (const asked of ['opened', 'pressed', undefined] as const) {
      expect(decideWake({ ...opening, isAwake: true, asked })).toBe('enter');
    }
    expect(decideWake({ ...opening, isAwake: false, asked: undefined })).toBe('enter');
  }
});
