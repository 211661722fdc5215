/** Buckets in local sandboxes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalProvider } from '#adapters/local/local-provider.ts';
import { localPlace } from '#adapters/mounts/local-place.ts';
import { missingFor } from '#test/adapters/local/machine.ts';
import { bucketMounterContract } from '#test/contracts/bucket-mounter.contract.ts';
import { bucketsMissing } from '#test/support/seaweedfs.ts';
import { suite } from '#test/support/suite.ts';

for (const isolation of ['bubblewrap', 'unshare'] as const) {
  suite(`buckets in a sandbox, ${isolation}`, missingFor(isolation) ?? bucketsMissing, () => {
    bucketMounterContract(async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'porthole-mounts-'));
      const provider = createLocalProvider({ dataDir, isolation });
      const holder = async (id: string) => provider.mountPlace(id)?.holder.pid;
      return {
        provider,
        place: (id, path) => localPlace(provider.mountPlace(id), path),
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
