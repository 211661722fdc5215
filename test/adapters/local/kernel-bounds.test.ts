import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { missingFor } from '#test/adapters/local/machine.ts';
import { suite } from '#test/support/suite.ts';

/** KEYCTL_GET_KEYRING_ID of the session keyring. */
const SERIAL = `import ctypes; print(ctypes.CDLL(None).syscall(${process.arch === 'arm64' ? 219 : 250}, 0, ctypes.c_long(-3), 0))`;

suite('the session keyring of a sandbox', missingFor('unshare'), () => {
  test('is a new one for each process that is started after a join', () => {
    const bounds = join(import.meta.dirname, '../../../adapters/local/kernel-bounds.ts');
    const script = `import { spawnSync } from 'node:child_process';
      import { joinNewKeyring } from ${JSON.stringify(bounds)};
      for (const joins of [0, 1, 1, 0]) {
        if (joins > 0) joinNewKeyring();
        process.stdout.write(spawnSync('python3', ['-c', ${JSON.stringify(SERIAL)}]).stdout);
      }`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stderr).toBe('');
    const [login, first, second, third] = stdout.trim().split('\n').map(Number);
    expect(new Set([login, first, second]).size).toBe(3);
    expect(third).toBe(second);
    expect(first).toBeGreaterThan(0);
  });
});
