import { expect, test } from '@jest/globals';
import { rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { IgnoreRules } from '../../client/node/ignore-rules.ts';
import { readFolder } from '../../client/node/read-folder.ts';
import { withFolder } from './support/ignore-cases.ts';

/** Later than what any file of a test proves. */
const LATER = Date.now() + 600_000;

test('reads a file again when its ctime or inode differs, and not otherwise', async () => {
  await withFolder({ kept: 'one', edited: 'one', replaced: 'one' }, async (folder) => {
    const write = async (name: string, text: string) => {
      await writeFile(join(folder, name), text);
      await utimes(join(folder, name), 1, 1);
    };
    for (const name of ['kept', 'edited', 'replaced']) await write(name, 'one');
    const rules = await IgnoreRules.read(folder);
    const { entries } = await readFolder(folder, rules, { entries: new Map(), readAt: 0 });
    expect((await readFolder(folder, rules, { entries, readAt: LATER })).read).toBe(0);

    await write('edited', 'two');
    await write('new', 'two');
    await rename(join(folder, 'new'), join(folder, 'replaced'));
    const after = await readFolder(folder, rules, { entries, readAt: LATER });
    expect(after.read).toBe(2);
    const changed = [...after.entries].filter(([path, entry]) => {
      const before = entries.get(path);
      return entry.type !== 'file' || before?.type !== 'file' || before.digest !== entry.digest;
    });
    expect(changed.map(([path]) => path).toSorted()).toEqual(['edited', 'replaced']);
  });
});
