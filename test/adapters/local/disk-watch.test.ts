import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLocalProvider, type LocalProvider } from '#adapters/local/local-provider.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { eventually, sandboxId } from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';
import { type TestProvider, withGuests } from '#test/support/with-guests.ts';

const FILL = 'while head -c 8M /dev/zero >> /workspace/big; do sleep 0.05; done';

suite('the disk watch of local sandboxes', missingFor('bubblewrap'), () => {
  const [greedy, modest] = [sandboxId(), sandboxId()];
  let dataDir: string;
  let provider: LocalProvider & TestProvider;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'porthole-disk-watch-'));
    provider = withGuests(createLocalProvider({ dataDir, watchDisksMs: 100 }));
    await provider.create({ id: greedy, resources: { diskMb: 64 } });
    await provider.create({ id: modest, resources: { diskMb: 64 } });
  });
  afterAll(async () => {
    for (const id of [greedy, modest]) await provider.destroy(id);
    await provider.close();
    rmSync(dataDir, { recursive: true });
  });
  const shell = async (id: string, script: string) => {
    const process = await provider.exec(id, { argv: ['sh', '-c', script] });
    process.stdout.resume();
    process.stderr.resume();
    return process.exited;
  };

  test('stops the sandbox that exceeds its disk, says why, and lets it start again to delete files', async () => {
    expect((await provider.enforcement(false)).diskMb).toBe('disk watch');
    await shell(modest, 'head -c 32M /dev/zero > /workspace/half');
    await shell(greedy, FILL).catch(() => undefined);
    expect(await eventually(async () => (await provider.inspect(greedy)).state === 'stopped')).toBe(true);
    expect(await provider.inspect(greedy)).toMatchObject({
      stoppedFor: expect.stringMatching(/^its files take \d+ MiB, and its disk has 64 MiB \(disk_mb\)$/),
    });
    expect(await provider.inspect(modest)).toEqual({ podName: modest, state: 'running' });

    await provider.resume(greedy);
    expect(await shell(greedy, 'sleep 1; rm /workspace/big; sleep 1')).toEqual({ code: 0 });
    await provider.stop(greedy);
    expect(await provider.inspect(greedy)).toEqual({ podName: greedy, state: 'stopped' });

    await provider.resume(greedy);
    await shell(greedy, FILL).catch(() => undefined);
    expect(await eventually(async () => (await provider.inspect(greedy)).stoppedFor !== undefined)).toBe(
      true,
    );
  }, 60_000);
});
