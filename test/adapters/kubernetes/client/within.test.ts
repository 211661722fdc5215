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

test('rejects a task with the abort reason of its caller, also when the caller aborted before the start', async () => {
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

test('ends what a task leaves running when the task ends, and nothing else', async () => {
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
