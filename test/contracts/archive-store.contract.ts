import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import type { ArchiveStore } from '#core/archives/archive-store.ts';

export interface StoreUnderTest {
  readonly store: ArchiveStore;
  end(): Promise<void>;
}

export function archiveStoreContract(open: () => Promise<StoreUnderTest>): void {
  describe('an archive store', () => {
    let opened: StoreUnderTest;
    beforeAll(async () => {
      opened = await open();
    }, 60_000);
    afterAll(() => opened?.end());

    const put = (key: string, content: Readable, signal?: AbortSignal) =>
      opened.store.put(key, content, signal);
    const read = async (key: string) => buffer(await opened.store.get(key));

    test.each<[string, number]>([
      ['nothing', 0],
      ['1 byte', 1],
      ['more than a part', 20_000_000],
      ['several parts', 70_000_000],
    ])('gives back %s as it was', async (_what, size) => {
      const bytes = randomBytes(size);
      const pieces = Array.from({ length: Math.ceil(size / 65_536) }, (_, at) =>
        bytes.subarray(at * 65_536, (at + 1) * 65_536),
      );
      await put('folder/as-it-was.tar', Readable.from(pieces));
      const hash = (of: Buffer) => createHash('sha256').update(of).digest('hex');
      expect(hash(await read('folder/as-it-was.tar'))).toBe(hash(bytes));
    });

    test('gives a range of what it has', async () => {
      const bytes = randomBytes(600_000);
      await put('folder/range', Readable.from([bytes]));
      for (const [from, length] of [
        [0, 1],
        [1, 300_000],
        [599_999, 1],
        [0, 600_000],
      ] as const) {
        const range = await buffer(await opened.store.get('folder/range', { from, length }));
        expect(range.equals(bytes.subarray(from, from + length))).toBe(true);
      }
      const missing = opened.store.get('folder/none', { from: 0, length: 1 });
      await expect(missing).rejects.toMatchObject({ code: 'archive_not_found' });
    });

    test('replaces what was there, and only when all has come', async () => {
      await put('replaced', Readable.from([Buffer.from('first')]));
      await put('replaced', Readable.from([Buffer.from('second')]));
      expect(await text(await opened.store.get('replaced'))).toBe('second');
      function* broken() {
        for (let n = 0; n < 400; n += 1) yield Buffer.alloc(65_536);
        throw new Error('broken off');
      }
      await expect(put('replaced', Readable.from(broken()))).rejects.toThrow('broken off');
      expect(await text(await opened.store.get('replaced'))).toBe('second');
      await expect(put('never', Readable.from(broken()))).rejects.toThrow('broken off');
      await expect(opened.store.get('never')).rejects.toMatchObject({ code: 'archive_not_found' });
    });

    test('has nothing under a key that is removed, and removes nothing twice', async () => {
      await put('removed', Readable.from([Buffer.from('x')]));
      await opened.store.remove('removed');
      await expect(opened.store.get('removed')).rejects.toMatchObject({ code: 'archive_not_found' });
      await opened.store.remove('removed');
    });

    test('gives up when it is aborted', async () => {
      const endless = new Readable({ read: () => undefined });
      await expect(put('aborted', endless, AbortSignal.timeout(50))).rejects.toMatchObject({
        name: 'TimeoutError',
      });
      expect(endless.destroyed).toBe(true);
    });
  });
}
