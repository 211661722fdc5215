import { describe, expect, test } from '@jest/globals';
import { fairTurns } from '#adapters/schemas/fair-turns.ts';

describe('turns', () => {
  test('whoever brings one thing waits for one of somebody who brings many', async () => {
    const inTurn = fairTurns(1);
    const done: string[] = [];
    const bring = (whose: string, what: string) =>
      inTurn(whose, () => {
        done.push(what);
        return Promise.resolve();
      });
    await Promise.all([
      bring('alice', 'a1'),
      bring('alice', 'a2'),
      bring('alice', 'a3'),
      bring('alice', 'a4'),
      bring('bob', 'b1'),
      bring('carol', 'c1'),
    ]);
    expect(done).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'a4']);
  });

  test('no more is done at a time, and what fails makes room', async () => {
    const inTurn = fairTurns(2);
    let underWay = 0;
    let most = 0;
    const work = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await Promise.resolve();
      underWay -= 1;
      throw new Error('it fails');
    };
    const ended = await Promise.allSettled(['a', 'a', 'b', 'b', 'c'].map((whose) => inTurn(whose, work)));
    expect(ended.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
    expect(most).toBe(2);
    expect(await inTurn('d', () => Promise.resolve('room'))).toBe('room');
  });
});
