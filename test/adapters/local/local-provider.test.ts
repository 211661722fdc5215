import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { sandboxProviderContract } from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';
import { missingFor, runsc } from '#test/adapters/local/machine.ts';
import { withGuests } from '#test/support/with-guests.ts';

for (const isolation of ['bubblewrap', 'unshare', 'gvisor', 'none'] as const) {
  suite(`local provider, isolation ${isolation}`, missingFor(isolation), () => {
    let folder: string;
    sandboxProviderContract(
      async () => {
        folder = await mkdtemp(join(tmpdir(), 'porthole-local-'));
        return withGuests(createLocalProvider({ dataDir: folder, isolation, runsc }));
      },
      { ownNetwork: isolation !== 'none', loses: isolation === 'gvisor' ? ['FIFO'] : [] },
    );
    afterAll(() => rm(folder, { recursive: true }));
  });
}
