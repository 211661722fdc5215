import { beforeEach, describe, expect, test } from '@jest/globals';
import { hashPassword, Passwords } from '#core/auth/passwords.ts';

const LIMIT = 3;
const BEHIND_A_PROXY = { preview: 'shop', person: undefined, address: '192.0.2.1' };
const ALICE = { ...BEHIND_A_PROXY, person: { user: 'alice', org: 'acme' } };
let now = 0;
let passwords: Passwords;
beforeEach(() => {
  now = 1_800_000_000_000;
  passwords = new Passwords(LIMIT, { now: () => new Date(now) });
});

const stored = await hashPassword('open sesame');
const other = await hashPassword('friend');
const guess = async (times: number, by = BEHIND_A_PROXY, from = 0) => {
  for (let at = from; at < from + times; at += 1) {
    expect(await passwords.check(`guess ${at}`, stored, by)).toBe(false);
  }
};

describe('a password', () => {
  test('is refused to who guessed too often, for a minute', async () => {
    await guess(LIMIT);
    const late = () => passwords.check('open sesame', stored, BEHIND_A_PROXY);
    await expect(late()).rejects.toMatchObject({ code: 'too_many_requests' });
    now += 60_000;
    expect(await late()).toBe(true);
  });

  test('is accepted from people, from other addresses and for other previews meanwhile', async () => {
    await guess(LIMIT);
    expect(await passwords.check('open sesame', stored, ALICE)).toBe(true);
    expect(await passwords.check('friend', other, BEHIND_A_PROXY)).toBe(true);
  });

  test('that was right is accepted although others guess', async () => {
    expect(
      await passwords.check('open sesame', stored, {
        ...BEHIND_A_PROXY,
        address: '192.0.2.2',
      }),
    ).toBe(true);
    await guess(LIMIT);
    expect(await passwords.check('open sesame', stored, BEHIND_A_PROXY)).toBe(true);
  });

  test('is protected from guesses of many addresses', async () => {
    for (let at = 0; at < 10; at += 1)
      await guess(LIMIT, { ...BEHIND_A_PROXY, address: `192.0.2.${at}` }, at * 10);
    await expect(
      passwords.check('guess', stored, { ...BEHIND_A_PROXY, address: '198.51.100.1' }),
    ).rejects.toThrow('Too many wrong passwords');
    expect(await passwords.check('open sesame', stored, ALICE)).toBe(true);
  });

  test('of a preview without one is wrong, and limited alike', async () => {
    for (const none of ['', null]) {
      for (let at = 0; at < LIMIT; at += 1)
        expect(await passwords.check(`${none} ${at}`, none, ALICE)).toBe(false);
      await expect(passwords.check('late', none, ALICE)).rejects.toThrow('Too many wrong passwords');
      now += 60_000;
    }
    expect(await passwords.check('friend', other, ALICE)).toBe(true);
  });
});

test('computes a wrong password once, and one at a time for each guesser', async () => {
  const many = () => Array.from({ length: 60 }, () => passwords.check('the same', stored, BEHIND_A_PROXY));
  const settled = await Promise.allSettled(many());
  // One runs and four wait; the others would hold the threads that read files.
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  const before = process.cpuUsage().user;
  expect(await Promise.all(many())).toEqual(Array.from({ length: 60 }, () => false));
  const used = process.cpuUsage().user - before;
  // Sixty computations take three seconds.
  expect(used).toBeLessThan(500_000);
  expect(await passwords.check('open sesame', stored, BEHIND_A_PROXY)).toBe(true);
});
