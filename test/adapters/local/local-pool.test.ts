import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { warmPoolContract } from '#test/contracts/warm-pool.contract.ts';
import { openManagedPools } from '#test/core/use-cases/warm-pool/managed-pool-harness.ts';
import { suite } from '#test/support/suite.ts';
import { withGuests } from '#test/support/with-guests.ts';

suite('a pool of local sandboxes', missingFor('bubblewrap'), () => {
  warmPoolContract(
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'porthole-local-'));
      const provider = withGuests(createLocalProvider({ dataDir: folder, isolation: 'bubblewrap' }));
      return openManagedPools(provider, () => rm(folder, { recursive: true }));
    },
    { hands: true, part: 'provider' },
  );
});
