import { expect, test } from '@jest/globals';
import { within } from '#adapters/kubernetes/client/exchange.ts';

function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

test('aborts a task that takes too long', async () => {
  await expect(within(10, undefined, hang)).rejects.toMatchObject({ name: 'TimeoutError' });
});

test('a task is given up with the reason of its caller, also of one who has given up already', async () => {
  const caller = new AbortController();
  const waiting = within(60_000, caller.signal, hang);
  caller.abort(new Error('gone home'));
  await expect(waiting).rejects.toThrow('gone home');
  let isBegun = false;
  const begin = async () => {
    isBegun = true;
  };
  await expect(within(60_000, caller.signal, begin)).rejects.toThrow('gone home');
  expect(isBegun).toBe(false);
});

test('what a task leaves running ends with it, and nothing else does', async () => {
  const caller = new AbortController();
  let left: Promise<unknown> | undefined;
  const done = await within(60_000, caller.signal, async (limit) => {
    left = hang(limit).catch((error: unknown) => error);
    return 'done';
  });
  expect(done).toBe('done');
  expect(await left).toBeInstanceOf(Error);
  expect(caller.signal.aborted).toBe(false);
});
