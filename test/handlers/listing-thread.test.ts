import { expect, jest, test } from '@jest/globals';
import * as threads from 'node:worker_threads';

let isRefused = true;
jest.unstable_mockModule('node:worker_threads', () => ({
  ...threads,
  Worker: class extends threads.Worker {
    constructor(...given: ConstructorParameters<typeof threads.Worker>) {
      if (isRefused) throw new Error('no room for a thread');
      super(...given);
    }
  },
}));

test('begins a thread for listings again after one could not begin', async () => {
  const { inListingThread } = await import('#handlers/files/listing-thread.ts');
  const listing = { said: new Uint8Array(20_000), folder: '/workspace' };
  await expect(inListingThread(listing, 'alice')).rejects.toThrow('no room for a thread');
  isRefused = false;
  expect(JSON.parse(String(await inListingThread(listing, 'alice')))).toMatchObject({
    entries: expect.anything(),
  });
});
