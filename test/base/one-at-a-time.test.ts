import { expect, test } from '@jest/globals';
import { oneAtATime } from '#base/concurrency.ts';

test('runs calls with the same key in sequence, even after a failure; other keys do not wait', async () => {
  const on = {};
  const reported: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = oneAtATime(on, 'a', async () => {
    reported.push('first begins');
    await gate.promise;
    reported.push('first ends');
    throw new Error('first');
  });
  const second = oneAtATime(on, 'a', async () => reported.push('second'));
  await oneAtATime(on, 'b', async () => reported.push('other'));
  await oneAtATime({}, 'a', async () => reported.push('elsewhere'));
  gate.resolve();
  await expect(first).rejects.toThrow('first');
  await second;
  expect(reported).toEqual(['first begins', 'other', 'elsewhere', 'first ends', 'second']);
});
