import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { isForeign } from '#proxy/access/foreign-request.ts';
import { NO_SIBLINGS } from '#proxy/siblings.ts';

const OWN = 'https://shop-preview.example.net';
const SIBLING = 'https://api-preview.example.net';
const OTHER = 'https://mallory-preview.example.net';
const VIEW = {
  scheme: 'https',
  host: 'shop-preview.example.net',
  targetPort: 3000,
  siblings: {
    ...NO_SIBLINGS,
    portOf: (name: string) => (name === 'api-preview.example.net' ? 8000 : undefined),
  },
} as const;

test.each([
  ['a link of another site', 'GET', undefined, 'cross-site', 'navigate', false],
  ['the frame of the console', 'GET', undefined, 'cross-site', 'navigate', false],
  ['an address that a person types', 'GET', undefined, 'none', 'navigate', false],
  ['a form of another site', 'POST', OTHER, 'cross-site', 'navigate', true],
  ['a form of another preview', 'POST', OTHER, 'same-site', 'navigate', true],
  ['a form of another preview, of an old browser', 'POST', OTHER, undefined, undefined, true],
  ['its own form', 'POST', OWN, 'same-origin', 'navigate', false],
  ['its own form without a referrer', 'POST', 'null', 'same-origin', 'navigate', false],
  ['the form of a frame without an origin', 'POST', 'null', 'cross-site', 'navigate', true],
  ['an image in another preview', 'GET', undefined, 'same-site', 'no-cors', true],
  ['a script in another site', 'GET', undefined, 'cross-site', 'no-cors', true],
  ['its own image', 'GET', undefined, 'same-origin', 'no-cors', false],
  ['a fetch of another preview', 'GET', OTHER, 'same-site', 'cors', true],
  ['a beacon of another preview', 'POST', OTHER, 'same-site', 'no-cors', true],
  ['a fetch of a sibling', 'POST', SIBLING, 'same-site', 'cors', false],
  ['a module of a sibling', 'GET', SIBLING, 'cross-site', 'cors', false],
  ['its own WebSocket', 'GET', OWN, undefined, 'websocket', false],
  ['a program', 'POST', undefined, undefined, undefined, false],
])('takes %s for foreign or not', (_, method, origin, site, mode, expected) => {
  const headers = {
    ...(origin !== undefined && { origin }),
    ...(site !== undefined && { 'sec-fetch-site': site }),
    ...(mode !== undefined && { 'sec-fetch-mode': mode }),
  };
  const req = Object.assign(new IncomingMessage(new Socket()), { method, headers });
  expect(isForeign(req, VIEW)).toBe(expected);
});
