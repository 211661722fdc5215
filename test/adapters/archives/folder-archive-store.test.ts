import { expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderArchiveStore } from '#adapters/system/folder-archive-store.ts';
import { archiveStoreContract } from '#test/contracts/archive-store.contract.ts';

archiveStoreContract(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'archives-'));
  return {
    store: folderArchiveStore(folder),
    async end() {
      expect(
        readdirSync(folder, { recursive: true }).filter((name) => String(name).includes('.partial')),
      ).toEqual([]);
      rmSync(folder, { recursive: true });
    },
  };
});

test.each(['../outside', 'a/../../b', '/etc/passwd', 'a//b', '.hidden'])(
  'refuses the key %j',
  async (key) => {
    await expect((async () => folderArchiveStore(tmpdir()).get(key))()).rejects.toThrow('no key');
  },
);

test('removes what a process that was killed has stored in part', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'archives-'));
  mkdirSync(join(folder, 'a'));
  writeFileSync(join(folder, 'a/b.pack.partial'), 'half');
  await folderArchiveStore(folder).remove('a/b.pack');
  expect(readdirSync(join(folder, 'a'))).toEqual([]);
  rmSync(folder, { recursive: true });
});
