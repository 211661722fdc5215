/** Buckets in local sandboxes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { localMountTarget } from '#adapters/mounts/local-mount-target.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { bucketMounterContract } from '#test/contracts/bucket-mounter.contract.ts';
import { bucketsMissing } from '#test/support/seaweedfs.ts';
import { suite } from '#test/support/suite.ts';
import { withGuests } from '#test/support/with-guests.ts';

for (const isolation of ['bubblewrap', 'unshare'] as const) {
  suite(`buckets in a sandbox, ${isolation}`, missingFor(isolation) ?? bucketsMissing, () => {
    bucketMounterContract(async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'porthole-mounts-'));
      const provider = withGuests(createLocalProvider({ dataDir, isolation }));
      const holder = async (id: string) => provider.mountNamespace(id)?.holder.pid;
      return {
        provider,
        target: (id, path) => localMountTarget(provider.mountNamespace(id), path),
        refusal: 'Read-only file system',
        holder,
        kill: async (id) => void process.kill(Number(await holder(id)), 'SIGKILL'),
        async end() {
          await provider.close();
          await rm(dataDir, { recursive: true });
        },
      };
    });
  });
}
