/** The kubernetes provider on a real cluster. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { readKubeconfig } from '#adapters/kubernetes/client/kubeconfig-access.ts';
import {
  createKubernetesClient,
  type KubernetesClient,
} from '#adapters/kubernetes/client/kubernetes-client.ts';
import { createKubernetesProvider } from '#adapters/kubernetes/sandboxes/kubernetes-provider.ts';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { sandboxProviderContract } from '#test/contracts/sandbox-provider.contract.ts';
import { suite } from '#test/support/suite.ts';
import { type Cluster, cluster, missing } from './bed/cluster.ts';

const namespace = `sandboxes-${randomBytes(4).toString('hex')}`;

suite('kubernetes provider', missing(), () => {
  let bed: Cluster;
  let client: KubernetesClient | undefined;

  beforeAll(async () => {
    bed = await cluster();
    await importSandboxImage(bed);
    await bed.kubectl(['create', 'namespace', namespace]);
  }, 120_000);
  afterAll(async () => {
    client?.close();
    await bed.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  sandboxProviderContract(
    async () => {
      const access = await readKubeconfig(bed.kubeconfig);
      client = createKubernetesClient({ access });
      return createKubernetesProvider({
        client,
        access,
        namespace,
        image: SANDBOX_IMAGE,
        pod: { memoryMebibytes: 1024, workspaceMebibytes: 1024 },
      });
    },
    { ownNetwork: true },
  );
});
