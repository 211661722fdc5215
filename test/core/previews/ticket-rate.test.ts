import { expect, test } from '@jest/globals';
import { TicketRate } from '#core/previews/ticket-rate.ts';

const BOB = { user: 'bob', org: 'globex' };
const ADDRESS = '192.0.2.1';

test('limits the tickets of one visitor of one preview, and of no other', () => {
  let now = 1_800_000_000_000;
  const rate = new TicketRate({ now: () => new Date(now) });
  for (let at = 0; at < 300; at += 1) rate.spend('shop', BOB, ADDRESS);
  expect(() => rate.spend('shop', BOB, ADDRESS)).toThrow('too often');
  expect(() => rate.spend('shop', { ...BOB, org: 'acme' }, ADDRESS)).not.toThrow();
  expect(() => rate.spend('shop', undefined, ADDRESS)).not.toThrow();
  expect(() => rate.spend('other', BOB, ADDRESS)).not.toThrow();
  now += 200;
  expect(() => rate.spend('shop', BOB, ADDRESS)).not.toThrow();
  expect(() => rate.spend('shop', BOB, ADDRESS)).toThrow('too often');
});
