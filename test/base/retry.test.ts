import { expect, test } from '@jest/globals';
import { retry } from '#base/retry.ts';

/** Fails that many times, then returns the number of its calls. */
function failing(times: number): () => Promise<number> {
  let calls = 0;
  return async () => {
    calls += 1;
    if (calls <= times) throw new Error(`failure ${calls}`);
    return calls;
  };
}

test('returns the first success', async () => {
  expect(await retry(failing(3), { delay: () => 0 })).toBe(4);
});

test('throws the error that is final, with the number of tries', async () => {
  const seen: number[] = [];
  const delay = (_error: unknown, tries: number): number | undefined => {
    seen.push(tries);
    return tries < 2 ? 1 : undefined;
  };
  await expect(retry(failing(5), { delay })).rejects.toThrow('failure 2');
  expect(seen).toEqual([1, 2]);
});

test('begins no try after its time', async () => {
  await expect(retry(failing(5), { delay: () => 60, withinMs: 100 })).rejects.toThrow('failure 2');
});

test('rejects with the reason of an abort, also while it waits', async () => {
  const aborted = AbortSignal.abort(new Error('gone'));
  await expect(retry(failing(1), { delay: () => 0, signal: aborted })).rejects.toThrow('gone');
  const caller = new AbortController();
  const waiting = retry(failing(1), { delay: () => 60_000, signal: caller.signal });
  setImmediate(() => caller.abort(new Error('gone home')));
  await expect(waiting).rejects.toThrow('gone home');
});
