import { expect, test } from '@jest/globals';
import { findIsolation, withoutIsolation } from '#adapters/local/isolation.ts';
import { suite } from '#test/support/suite.ts';

const onLinux = process.platform === 'linux' ? undefined : 'isolation needs Linux';

suite('isolation', onLinux, () => {
  test('is bubblewrap where that starts, without a warning', async () => {
    expect(await findIsolation(async () => undefined)).toEqual({ isolation: 'bubblewrap', warnings: [] });
  });

  test('is unshare where only that starts', async () => {
    const found = await findIsolation(async (kind) =>
      kind === 'bubblewrap' ? 'spawn bwrap ENOENT' : undefined,
    );
    expect(found).toEqual({ isolation: 'unshare', warnings: [] });
  });

  test('warns where system calls are not filtered, of what that opens and of the remedy', async () => {
    const found = await findIsolation(
      async (kind) => (kind === 'bubblewrap' ? 'spawn bwrap ENOENT' : undefined),
      () => false,
    );
    expect(found.isolation).toBe('unshare');
    expect(found.warnings).toHaveLength(1);
    for (const part of ['NOT filtered', 'keys', 'apt-get install']) expect(found.warnings[0]).toContain(part);
  });

  test('is none where neither starts, with a warning that says so, why, and what helps', async () => {
    const { isolation, warnings } = await findIsolation(async (kind) => `${kind} said no`);
    expect(isolation).toBe('none');
    expect(warnings).toHaveLength(1);
    for (const part of [
      'NOT isolated',
      'bubblewrap: bubblewrap said no',
      'unshare: unshare said no',
      'apt-get install',
    ]) {
      expect(warnings[0]).toContain(part);
    }
  });

  test('warns when it is switched off, too', () => {
    expect(withoutIsolation().warnings[0]).toContain('NOT isolated');
  });
});
